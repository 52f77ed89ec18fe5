import { setTimeout as pause } from 'node:timers/promises';
import { deferred } from '../deferred.js';
import { type Ground, parameter, type Scenario } from './scenario.js';
import { countRedisCommands } from '../servers/redis.js';

const STATEMENTS = `
  select coalesce(sum(calls), 0)::float8 as count from pg_stat_statements
  where dbid = (select oid from pg_database where datname = current_database()) and query not like '%pg_stat_statements%'`;

/** Statements that a worker with nothing to do sends in a minute. */
export const idle: Scenario = async (ground) => {
  const { system } = ground;
  const duration = parameter(ground, 'duration');
  await ground.admin?.query('create extension if not exists pg_stat_statements');
  const { promise, resolve } = deferred<undefined>();
  const stop = await system.startWorker(() => resolve(undefined));
  await system.enqueue();
  await promise;
  await pause(parameter(ground, 'warmUp'));
  const before = await countStatements(ground);
  await pause(duration);
  const count = (await countStatements(ground)) - before;
  await stop();
  return { statements: (count / duration) * 60_000 };
};

async function countStatements({ admin, url }: Ground): Promise<number> {
  if (admin === undefined) return countRedisCommands(url);
  const { rows } = await admin.query<{ count: number }>(STATEMENTS);
  return rows[0]?.count ?? 0;
}

import { eventually } from './eventually.js';
import type { TestDatabase } from './test-database.js';

type Queried = Pick<TestDatabase, 'query'>;

const OTHERS = `
  from pg_catalog.pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and application_name <> 'test'`;
const LISTENERS = `${OTHERS} and (query ilike 'listen %' or query like '%pg_listening_channels()%')`;

/** Ends all connections to the database but those of the test. Resolves with their number when they are gone. */
export async function terminateAll(database: Queried): Promise<number> {
  return terminate(database, OTHERS);
}

/** Ends the connections that listen. */
export async function terminateListeners(database: Queried): Promise<number> {
  return terminate(database, LISTENERS);
}

export async function countListeners(database: Queried): Promise<number> {
  return (await database.query(`select ${LISTENERS}`)).length;
}

async function terminate(database: Queried, from: string): Promise<number> {
  const pids = (await database.query<{ pid: number }>(`select pid, pg_terminate_backend(pid) ${from}`)).map(
    ({ pid }) => pid,
  );
  await eventually(async () => (await database.query(`select ${OTHERS} and pid = any($1)`, [pids])).length === 0);
  return pids.length;
}

import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Entrypoint, type Job, PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import {
  createTestDatabase,
  type Deferred,
  deferred,
  silentLogger,
  startWorker,
  type TestDatabase,
} from '../support/index.js';

@Injectable()
class Greeter {
  readonly greeted: Deferred<Job>[] = [deferred(), deferred()];

  @Entrypoint('greet')
  greet(job: Job<number>) {
    this.greeted[job.payload]?.resolve(job);
  }
}

/** Two jobs through an application; the second one can only be woken by its notification. */
async function runThrough(options: Omit<PostgresDataSourceOptions, 'type'>, schema?: string): Promise<void> {
  const dataSource = await new DataSource({ type: 'postgres', ...options }).initialize();
  const queue = PgQueueModule.forRoot({ dataSource, schema, worker: { pollInterval: 600_000 } });
  const module = await Test.createTestingModule({ imports: [queue], providers: [Greeter] })
    .setLogger(silentLogger)
    .compile();
  await module.init();
  const { greeted } = module.get(Greeter);
  for (const [payload, each] of greeted.entries()) {
    await module.get(PgQueueProducer).enqueue('greet', payload);
    await each.promise;
  }
  await dataSource.transaction((manager) => module.get(PgQueueProducer).enqueue('unhandled', 1, { manager }));
  await module.close();
  await dataSource.destroy();
}

describe('the tables of the queue', () => {
  let database: TestDatabase;
  let other: TestDatabase;
  beforeEach(async () => {
    [database, other] = await Promise.all([createTestDatabase({ empty: true }), createTestDatabase({ empty: true })]);
  });
  afterEach(() => Promise.all([database.drop(), other.drop()]));

  const tables = async (of: TestDatabase) =>
    (
      await of.query<{ name: string }>(`
        select format('%I.%I', table_schema, table_name) as name from information_schema.tables
        where table_schema not in ('pg_catalog', 'information_schema') order by 1`)
    ).map(({ name }) => name);

  it('are found and named alike with an entityPrefix', async () => {
    await runThrough({ url: database.url, entityPrefix: 'shop_' });
    expect(await tables(database)).toEqual([
      'pgqueue.claim',
      'pgqueue.entrypoint',
      'pgqueue.job',
      'pgqueue.job_log',
      'pgqueue.migration',
      'pgqueue.statistic',
      'pgqueue.statistic_delta',
    ]);
  });

  it('are found whatever the search_path is', async () => {
    await database.query(`create schema decoy; create table decoy.job (id int); create table decoy.migration (id int)`);
    await runThrough({ url: database.url, extra: { options: '-c search_path=decoy' } }, 'work');
    await runThrough({ url: database.url, extra: { options: '-c search_path=' } }, 'work');
    expect(await database.query('select from decoy.job union all select from decoy.migration')).toEqual([]);
    expect(await tables(database)).toContain('work.job');
    expect(await database.query('select count(*)::int from work.job')).toEqual([{ count: 2 }]);
  });

  it('are those of the primary, with its notifications, when the DataSource replicates', async () => {
    await runThrough({ replication: { master: { url: database.url }, slaves: [{ url: other.url }] } });
    expect(await tables(database)).toContain('pgqueue.job');
    expect(await tables(other)).toEqual([]);
  });

  it.each(['repeatable read', 'serializable'])('serve connections that are %s by default', async (isolation) => {
    const options = `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`;
    await runThrough({ url: database.url, extra: { options } });
    expect(await database.query('select entrypoint from pgqueue.job')).toEqual([{ entrypoint: 'unhandled' }]);
  });

  it('give a claim no more jobs than there are', async () => {
    await runThrough({ url: database.url });
    const worker = await startWorker(database.url, { unhandled: () => undefined }, { pollInterval: 10 });
    await worker.event('settled');
    await worker.event('listening');
    await worker.stop();
    const claims = worker.events.flatMap((event) => (event.type === 'claimed' ? [event.jobs.length] : []));
    expect(claims).toEqual([1]);
  });
});

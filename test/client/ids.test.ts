import { types } from 'pg';
import { PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import {
  createTestDatabase,
  deferred,
  silentLogger,
  startWorker,
  type TestDatabase,
  type TestWorker,
} from '../support/index.js';

const { INT8, JSON: JSON_TYPE, TIMESTAMPTZ, FLOAT8, NUMERIC } = types.builtins;
const PARSED = [INT8, JSON_TYPE, TIMESTAMPTZ, FLOAT8, NUMERIC];
const original = PARSED.map((oid) => [oid, types.getTypeParser(oid)] as const);

/** What an application can do to all its connections, the worst of it. */
const refuse = (text: string) => {
  throw new Error(`A type parser of the application got ${text}`);
};

describe.each<[string, () => void, object]>([
  ['by default', () => undefined, {}],
  ['when the application parses int8 to a number', () => types.setTypeParser(INT8, Number), {}],
  ['with parseInt8 of TypeORM', () => undefined, { parseInt8: true }],
  ['with binary results', () => undefined, { extra: { binary: true } }],
  ['when the parsers of the application throw', () => PARSED.forEach((oid) => types.setTypeParser(oid, refuse)), {}],
])('the id of a job, %s', (_, setParsers, dataSourceOptions) => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let queue: PgQueueProducer;
  let close: () => Promise<void>;

  beforeAll(async () => {
    database = await createTestDatabase();
    setParsers();
    dataSource = await new DataSource({ type: 'postgres', url: database.url, ...dataSourceOptions }).initialize();
    const module = await Test.createTestingModule({ imports: [PgQueueModule.forRoot({ dataSource, worker: false })] })
      .setLogger(silentLogger)
      .compile();
    queue = module.get(PgQueueProducer);
    close = () => module.close();
  });
  afterAll(async () => {
    await close();
    await dataSource.destroy();
    original.forEach(([oid, parser]) => types.setTypeParser(oid, parser));
    await database.drop();
  });

  const logged = () =>
    database.query(`select job_id::text as id, attempt, status from pgqueue.job_log order by ended_at, attempt`);

  it.each([
    ['below int4', '2147483646'],
    ['beyond int4', '2147483648'],
    ['beyond 2^53', '9007199254740993'],
    ['near the end', '9223372036854775800'],
  ])('is exact on every path: %s', async (_name, start) => {
    await database.query(`alter table pgqueue.job alter id restart with ${start}`);
    await database.query('truncate pgqueue.job_log');
    const id = (offset: bigint) => String(BigInt(start) + offset);
    expect(await queue.enqueue('keep', 0)).toEqual({ id: start, duplicate: false });
    const many = await queue.enqueueMany([{ entrypoint: 'keep' }, { entrypoint: 'retry' }]);
    expect(many).toEqual([
      { id: id(1n), duplicate: false },
      { id: id(2n), duplicate: false },
    ]);
    const { id: inside } = await dataSource.transaction((manager) => queue.enqueue('keep', 3, { manager }));
    expect(inside).toBe(id(3n));

    const seen: string[] = [];
    const all = deferred();
    const handle = (job: { id: string }) => {
      if (seen.push(job.id) === 5) all.resolve();
    };
    const worker = await startWorker(
      database.url,
      {
        keep: handle,
        retry: (job) => {
          handle(job);
          if (job.attempt === 1) throw new Error('again');
        },
      },
      { defaults: { retry: { delay: 0 } } },
    );
    await all.promise;
    await settled(worker, 5);
    await worker.stop();
    expect(seen.sort()).toEqual([start, id(1n), id(2n), id(2n), id(3n)].sort());
    const rows = await logged();
    expect(rows.map((row) => row['id']).sort()).toEqual([...seen].sort());
    expect(rows).toContainEqual({ id: id(2n), attempt: 1, status: 'retried' });
    expect(rows).toContainEqual({ id: id(2n), attempt: 2, status: 'successful' });
    expect(await database.query('select from pgqueue.job union all select from pgqueue.claim')).toEqual([]);
  });
});

/** Resolves when so many outcomes are written. */
async function settled(worker: TestWorker, count: number): Promise<void> {
  await worker.event('settled', () => {
    const ids = worker.events.flatMap((event) => (event.type === 'settled' ? event.ids : []));
    return ids.length >= count;
  });
}

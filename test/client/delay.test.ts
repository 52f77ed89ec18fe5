import {
  createTestDatabase,
  deferred,
  startApp,
  startWorker,
  type TestApp,
  type TestDatabase,
} from '../support/index.js';
const EVERYTHING_BUT_DATE: FakeableAPI[] = [
  ...(['nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'] as const),
  ...(['setInterval', 'clearInterval', 'performance', 'hrtime'] as const),
];

describe('the delay of a job', () => {
  let database: TestDatabase;
  let producer: TestApp;
  beforeEach(async () => {
    database = await createTestDatabase();
    producer = await startApp(database.url, {}, { worker: false });
  });
  afterEach(async () => {
    jest.useRealTimers();
    await producer.close();
    await database.drop();
  });

  const databaseTime = async () =>
    (await database.query<{ now: string }>('select clock_timestamp()::text as now'))[0]?.now;

  it.each([-600_000, 600_000])("counts from the database's clock when the process is off by %i ms", async (offset) => {
    const before = await databaseTime();
    jest.useFakeTimers({ now: Date.now() + offset, doNotFake: EVERYTHING_BUT_DATE });
    await producer.queue.enqueue('later', 1, { delay: 5_000 });
    jest.useRealTimers();
    const rows = await database.query(
      `select created_at between $1 and clock_timestamp() as created_now,
         run_at - interval '5 s' between $1 and clock_timestamp() as due_then
       from pgqueue.job`,
      [before],
    );
    expect(rows).toEqual([{ created_now: true, due_then: true }]);
  });

  it('counts from the call, not from the begin of a long transaction', async () => {
    const rows: unknown = await producer.dataSource.transaction(async (manager) => {
      await manager.query('select pg_sleep(0.7)');
      await producer.queue.enqueue('later', 1, { manager, delay: 5_000 });
      // now() is the begin of the transaction.
      return manager.query(`
        select created_at >= now() + interval '0.7 s' as created_after, run_at >= now() + interval '5.7 s' as due_after,
          run_at <= clock_timestamp() + interval '5 s' as due_then
        from pgqueue.job`);
    });
    expect(rows).toEqual([{ created_after: true, due_after: true, due_then: true }]);
  });

  it('of zero, or a runAt that is past, makes it due at once', async () => {
    await producer.queue.enqueue('now', 1, { delay: 0 });
    await producer.queue.enqueue('now', 2, { runAt: new Date(0) });
    await producer.dataSource.transaction(async (manager) => {
      await manager.query('select pg_sleep(0.05)');
      await producer.queue.enqueue('now', 3, { manager, delay: 0 });
    });
    expect(await database.query('select wait, run_at <= clock_timestamp() as due from pgqueue.job')).toEqual(
      Array(3).fill({ wait: 'ready', due: true }),
    );
  });

  it('may be a fraction of a millisecond, and a century', async () => {
    await producer.queue.enqueue('name', 1, { delay: 0.25 });
    await producer.queue.enqueue('name', 1, { delay: 100 * 365.25 * 86_400_000 });
    const rows = await database.query(
      `select extract(year from age(run_at, created_at))::int as years from pgqueue.job order by id`,
    );
    expect(rows).toEqual([{ years: 0 }, { years: 100 }]);
  });

  it('is over when its time has come: the job runs, and not before', async () => {
    const order: string[] = [];
    const handled = deferred();
    const handlers = {
      later: () => (order.push('later'), handled.resolve()),
      now: () => void order.push('now'),
    };
    await producer.queue.enqueueMany([{ entrypoint: 'later', delay: 3_600_000, priority: 9 }, { entrypoint: 'now' }]);
    const worker = await startWorker(database.url, handlers, { concurrency: 1, pollInterval: 50 });
    await worker.event('settled');
    await worker.event('listening');
    expect(order).toEqual(['now']);
    await database.query(`update pgqueue.job set run_at = clock_timestamp()`);
    await handled.promise;
    await worker.stop();
    expect(order).toEqual(['now', 'later']);
  });
});

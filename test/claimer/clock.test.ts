import { createTestDatabase, onPool, type Queue, startApp, startWorker, type TestDatabase } from '../support/index.js';

const MINUTES = 60_000;

describe.each([
  ['ahead of', 10],
  ['behind', -10],
])('with a clock 10 minutes %s that of the database', (_, minutes) => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    shiftClock(minutes * MINUTES);
  });
  afterEach(async () => {
    restoreClock();
    await database.drop();
  });

  const DUE_IN = `select id, (extract(epoch from run_at - created_at) * 1000)::float8 as wait, wait as queue from pgqueue.job order by id`;

  it('a producer means the clock of the database by a delay, and by none, now', async () => {
    const producer = await startApp(database.url, {}, { worker: false });
    const later = await producer.queue.enqueue('work', null, { delay: 5_000 });
    const now = await producer.queue.enqueue('work');
    await producer.close();
    const [first, second] = await database.query<{ id: string; wait: number; queue: string }>(DUE_IN);
    expect(first).toMatchObject({ id: later.id, queue: 'later' });
    expect(first?.wait).toBeGreaterThan(4_900);
    expect(first?.wait).toBeLessThan(5_100);
    expect(second).toMatchObject({ id: now.id, queue: 'ready' });
  });

  it('a worker runs what is due at once, and what is later in its time', async () => {
    const [now, soon, far] = await queue.add({}, { delay: 300 }, { delay: 10_000 });
    const lags = new Map<string, number>();
    const work = async ({ id }: { id: string }) => {
      const [row] = await database.query<{ lag: number }>(LAG, [id]);
      lags.set(id, row?.lag ?? NaN);
    };
    const worker = await startWorker(database.url, { work }, { pollInterval: 60_000 });
    await worker.event('settled', ({ ids }) => ids.includes(now!));
    await worker.event('settled', ({ ids }) => ids.includes(soon!));
    await worker.stop();
    expect(lags.get(soon!)).toBeGreaterThanOrEqual(0);
    expect(lags.get(soon!)).toBeLessThan(500);
    expect(lags.has(far!)).toBe(false);
  });

  it('a worker takes no living claim for stale, keeps its own alive, and retries in time', async () => {
    const retry = { delay: 100, jitter: 0 };
    await queue.add('living');
    const living = await queue.claim(1, { entrypoints: ['living'] });
    await queue.add({});
    const work = ({ attempt }: { attempt: number }) => (attempt === 1 ? Promise.reject(new Error('no')) : undefined);
    const worker = await startWorker(database.url, { work }, { pollInterval: 50, defaults: { retry } });
    await worker.event('ended', ({ job, outcome }) => job.attempt === 2 && outcome.type === 'successful');
    await worker.stop();
    expect(worker.events.filter(({ type }) => type === 'dissolved' || type === 'claim-lost')).toEqual([]);
    expect(await database.query('select claim_id from pgqueue.claim')).toEqual([{ claim_id: living.claimId }]);
  });
});

describe('a delay', () => {
  it('counts from the enqueue, not from the begin of its transaction', async () => {
    const database = await createTestDatabase();
    const producer = await startApp(database.url, {}, { worker: false });
    const [row] = await producer.dataSource.transaction(async (manager) => {
      const [{ at }] = await manager.query<[{ at: string }]>('select clock_timestamp()::text as at');
      const { id } = await producer.queue.enqueue('work', null, { delay: 5_000, manager });
      return manager.query<unknown[]>(
        `select run_at >= $2::timestamptz + interval '5 s' as waits, run_at <= clock_timestamp() + interval '5 s' as long
         from pgqueue.job where id = $1`,
        [id, at],
      );
    });
    expect(row).toEqual({ waits: true, long: true });
    await producer.close();
    await database.drop();
  });
});

const LAG = `select (extract(epoch from clock_timestamp() - run_at) * 1000)::float8 as lag from pgqueue.job where id = $1`;

const RealDate = Date;

/** Timers keep their time; only what a program reads from the clock is wrong. */
function shiftClock(by: number): void {
  globalThis.Date = class extends RealDate {
    constructor(...args: [] | [number | string]) {
      if (args.length === 0) super(RealDate.now() + by);
      else super(...args);
    }
    static override now(): number {
      return RealDate.now() + by;
    }
  } as DateConstructor;
}

function restoreClock(): void {
  globalThis.Date = RealDate;
}

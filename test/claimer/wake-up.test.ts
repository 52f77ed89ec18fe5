import {
  countListeners,
  createTestDatabase,
  deferred,
  eventually,
  onPool,
  type Queue,
  startWorker,
  terminateListeners,
  type TestDatabase,
} from '../support/index.js';

const POLL_NEVER = { pollInterval: 60_000 };

describe('a worker wakes up', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  const nothing = () => undefined;
  /** A job that nobody is notified of. */
  const addSilently = () => database.query(`insert into pgqueue.job (entrypoint) values ('work')`);

  /** Resolves when a worker has claimed, and won nothing. */
  const untilLooked = () =>
    eventually(async () =>
      expect(
        await database.query(`select from pg_stat_activity where query like '%skip locked%' and state = 'idle'`),
      ).not.toEqual([]),
    );

  it('at a notification', async () => {
    const worker = await startWorker(database.url, { work: nothing }, POLL_NEVER);
    await worker.event('listening');
    const [id] = await queue.add({});
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    await worker.stop();
  });

  it('when it begins to listen, for what was committed after its first look', async () => {
    const listen = deferred();
    const worker = await startWorker(
      database.url,
      { work: nothing, first: nothing },
      {
        ...POLL_NEVER,
        listen:
          (inner) =>
          async (...args) => (await listen.promise, inner(...args)),
      },
    );
    await untilLooked();
    const [id] = await queue.add({});
    expect(worker.events.filter(({ type }) => type === 'claimed')).toEqual([]);
    listen.resolve();
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    await worker.stop();
  });

  it('after the listening connection broke, for what it did not hear of', async () => {
    const worker = await startWorker(database.url, { work: nothing }, POLL_NEVER);
    await worker.event('listening');
    const listenings = () => worker.events.filter(({ type }) => type === 'listening').length;
    for (let kill = 1; kill <= 5; kill++) {
      expect(await terminateListeners(database)).toBe(1);
      await addSilently();
      await worker.event('listening', () => listenings() === kill + 1);
      await worker.event('settled', () => worker.events.filter(({ type }) => type === 'settled').length === kill);
      await eventually(async () => expect(await countListeners(database)).toBe(1));
    }
    expect(worker.events.filter(({ type }) => type === 'error')).toHaveLength(5);
    await worker.stop();
  });

  it('by polling alone when notifications are off', async () => {
    const worker = await startWorker(database.url, { work: nothing }, { notify: false, pollInterval: 50 });
    for (let count = 1; count <= 3; count++) {
      await addSilently();
      await worker.event('settled', () => worker.events.filter(({ type }) => type === 'settled').length === count);
    }
    expect(await countListeners(database)).toBe(0);
    expect(worker.events.filter(({ type }) => type === 'listening')).toEqual([]);
    await worker.stop();
  });

  it('when a job is due, however rarely it polls', async () => {
    const lags: number[] = [];
    const work = async ({ id }: { id: string }) => {
      const [row] = await database.query<{ lag: number }>(LAG, [id]);
      lags.push(row?.lag ?? NaN);
    };
    const worker = await startWorker(database.url, { work }, { ...POLL_NEVER, concurrency: 20 });
    await worker.event('listening');
    // One that is far away, one that is near, and many that fall due while the worker looks or lies down.
    const delays = [10_000, 500, ...Array.from({ length: 30 }, (_, index) => 1 + 10 * index)];
    const [far, ...near] = await queue.add(...delays.map((delay) => ({ delay })));
    const settled = () => worker.events.flatMap((event) => (event.type === 'settled' ? event.ids : []));
    await worker.event('settled', () => settled().length === near.length);
    expect(settled()).not.toContain(far);
    expect(Math.min(...lags)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lags)).toBeLessThan(500);
    await worker.stop();
  });

  it('for a retry that it has written itself, without notifications', async () => {
    const retry = { delay: 50, jitter: 0 };
    const work = ({ attempt }: { attempt: number }) => (attempt === 1 ? Promise.reject(new Error('no')) : undefined);
    await queue.add({});
    const worker = await startWorker(database.url, { work }, { ...POLL_NEVER, notify: false, defaults: { retry } });
    await worker.event('ended', ({ job, outcome }) => job.attempt === 2 && outcome.type === 'successful');
    await worker.stop();
  });
});

const LAG = `select (extract(epoch from clock_timestamp() - run_at) * 1000)::float8 as lag from pgqueue.job where id = $1`;

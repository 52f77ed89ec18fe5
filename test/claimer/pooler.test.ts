import { eventually, hasPooler, type TestWorkerOptions, useWorkerGround } from '../support/index.js';

const POLL_NEVER = 60_000;

// Debian and others have it as a package; where the tests have to be complete, its absence is no excuse.
const describeWithPooler = hasPooler() || process.env['CI'] ? describe : describe.skip;

describeWithPooler('through PgBouncer', () => {
  const ground = useWorkerGround();

  /** A worker and an application that enqueues, both through the pooler. */
  async function startBoth(mode: 'transaction' | 'session', { notify = true, ...options }: TestWorkerOptions) {
    const url = await ground.pooler(mode);
    const runs: string[] = [];
    const worker = await ground.start({ work: ({ id }) => void runs.push(id) }, { url, notify, ...options });
    return { worker, runs, ...(await ground.producer({ url, notify })) };
  }

  it('in transaction mode, polling alone drains all that many produce, each job once', async () => {
    const both = await startBoth('transaction', { notify: false, pollInterval: 50, concurrency: 20 });
    const enqueue = (_: unknown, index: number) =>
      index % 2 === 0
        ? both.queue.enqueue('work')
        : both.dataSource.transaction((manager) => both.queue.enqueue('work', { index }, { manager }));
    await Promise.all(Array.from({ length: 200 }, enqueue));
    await eventually(async () => expect(await ground.log()).toHaveLength(200));
    expect(new Set(both.runs).size).toBe(200);
    expect(both.worker.events.filter(({ type }) => type === 'error' || type === 'refused')).toEqual([]);
  });

  it('in transaction mode, listenUrl leads to a connection that hears of jobs at once', async () => {
    const both = await startBoth('transaction', { listenUrl: ground.database.url, pollInterval: POLL_NEVER });
    await both.worker.event('listening');
    const { id } = await both.queue.enqueue('work');
    await both.worker.event('settled', ({ ids }) => ids.includes(id));
    expect(both.worker.events.filter(({ type }) => type === 'error')).toEqual([]);
  });

  it('in transaction mode, a worker that is to listen there says once what to do, and polls', async () => {
    const both = await startBoth('transaction', { pollInterval: 100 });
    const { error, transient } = await both.worker.event('error');
    expect({ error, transient }).toMatchObject({ error: { code: 'PGQUEUE_DEAF' }, transient: false });
    expect(String(error)).toMatch(/listenUrl .* notify/);
    for (let job = 1; job <= 3; job++) {
      const { id } = await both.queue.enqueue('work');
      await both.worker.event('settled', ({ ids }) => ids.includes(id));
    }
    expect(both.worker.events.filter(({ type }) => type === 'error')).toHaveLength(1);
    expect(both.worker.events.filter(({ type }) => type === 'listening')).toEqual([]);
    await both.worker.stop();
    const listening = 'select from pg_stat_activity where datname = current_database() and query like $1';
    expect(await ground.database.query(listening, ['listen %'])).toEqual([]);
  });

  it('in session mode, notifications arrive', async () => {
    const both = await startBoth('session', { pollInterval: POLL_NEVER });
    await both.worker.event('listening');
    const { id } = await both.queue.enqueue('work');
    await both.worker.event('settled', ({ ids }) => ids.includes(id));
  });
});

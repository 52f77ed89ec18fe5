import { setTimeout as delay } from 'node:timers/promises';
import {
  createTestDatabase,
  deferred,
  type Deferred,
  eventually,
  onPool,
  type Queue,
  startWorker,
  type TestDatabase,
} from '../support/index.js';

/** A job is trusted after 200 ms, and suspects have 400 ms at a time. */
const FAST = { heartbeatTimeout: 1_200, pollInterval: 200 };

describe('jobs whose worker has died', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  const addSuspects = async (count: number, entrypoint = 'suspect') => {
    const sql = `insert into pgqueue.job (entrypoint, wait) select $1, 'alone' from generate_series(1, $2) returning id`;
    return (await database.query<{ id: string }>(sql, [entrypoint, count])).map(({ id }) => id);
  };
  const running = new Set<string>();
  const most = { suspects: 0, beside: 0 };
  /** Counts what runs at the same time. */
  const track =
    (run: () => unknown, isSuspect: boolean) =>
    async ({ id }: { id: string }) => {
      running.add(id);
      if (isSuspect) most.beside = Math.max(most.beside, running.size - 1);
      await run();
      running.delete(id);
    };
  const wait = () => database.query('select wait, status from pgqueue.job');

  it('run one at a time with nothing beside them, before what is ready', async () => {
    const suspects = await addSuspects(20);
    const others = await queue.add(...Array.from({ length: 20 }, () => 'work'));
    most.beside = 0;
    const soon = () => delay(5);
    const worker = await startWorker(
      database.url,
      { suspect: track(soon, true), work: track(soon, false) },
      { concurrency: 5 },
    );
    const ended = () => worker.events.flatMap((event) => (event.type === 'settled' ? event.ids : []));
    await worker.event('settled', () => ended().length === 40);
    await worker.stop();
    expect(most.beside).toBe(0);
    expect(ended().slice(0, 20).toSorted()).toEqual(suspects.toSorted());
    expect(ended().slice(20).toSorted()).toEqual(others.toSorted());
  });

  it('start on a worker that is never idle, once all that it runs is trusted', async () => {
    await queue.add('long');
    const end = deferred();
    const worker = await startWorker(database.url, { long: () => end.promise, suspect: () => undefined }, FAST);
    await worker.event('claimed');
    const startedAt = performance.now();
    const [id] = await addSuspects(1);
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    expect(performance.now() - startedAt).toBeGreaterThan(100);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    end.resolve();
    await worker.stop();
  });

  it('are joined by others after a while', async () => {
    await addSuspects(1);
    const end = deferred();
    const worker = await startWorker(database.url, { suspect: () => end.promise, work: () => undefined }, FAST);
    await worker.event('claimed');
    const [id] = await queue.add('work');
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    end.resolve();
    await worker.stop();
  });

  it('that were lost twice start only when nothing else runs, and are joined later', async () => {
    const [twice] = await addSuspects(1);
    await database.query('update pgqueue.job set losses = 2');
    const [id] = await queue.add('work');
    const ends = { work: deferred(), suspect: deferred() };
    const startedAt = new Map<string, number>();
    const run = (name: 'work' | 'suspect') => () => {
      startedAt.set(name, performance.now());
      return ends[name].promise;
    };
    // What is ready comes first, as the suspect isn't known yet.
    await database.query(`update pgqueue.job set wait = 'ready' where id = $1`, [twice]);
    await database.query(`update pgqueue.job set status = 'failed' where id = $1`, [twice]);
    const worker = await startWorker(database.url, { work: run('work'), suspect: run('suspect') }, FAST);
    await worker.event('claimed');
    await database.query(`update pgqueue.job set status = 'queued', wait = 'alone' where id = $1`, [twice]);
    await delay(1_500);
    expect(startedAt.has('suspect')).toBe(false);
    ends.work.resolve();
    await worker.event('claimed', ({ jobs }) => jobs[0]?.id === twice);
    const [next] = await queue.add('work');
    await worker.event('settled', ({ ids }) => ids.includes(next!));
    expect(startedAt.get('work')! - startedAt.get('suspect')!).toBeGreaterThan(4 * 200 - 20);
    ends.suspect.resolve();
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    await worker.stop();
  });

  it('take turns with others, whose jobs are not kept waiting until the last suspect has run', async () => {
    await addSuspects(50);
    const worker = await startWorker(database.url, { suspect: () => delay(50), work: () => undefined }, FAST);
    const ended = () => worker.events.flatMap((event) => (event.type === 'settled' ? event.ids : []));
    await worker.event('settled');
    const [id] = await queue.add('work');
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    expect(ended().length).toBeLessThan(50);
    await worker.event('settled', () => ended().length === 51);
    await worker.stop();
  });

  it('are started one after the other although none of them ends', async () => {
    await addSuspects(4);
    const ends: Deferred<void>[] = [];
    const suspect = () => {
      ends.push(deferred());
      return ends.at(-1)!.promise;
    };
    const worker = await startWorker(database.url, { suspect }, { ...FAST, concurrency: 4 });
    await eventually(() => ends.length === 4);
    for (const end of ends) end.resolve();
    await worker.stop();
  });

  it('are run like any other when nobody has started them for long, whoever sees it', async () => {
    await addSuspects(1, 'strange');
    await database.query(`update pgqueue.job set run_at = run_at - interval '1 hour'`);
    const worker = await startWorker(database.url, { work: () => undefined }, FAST);
    await eventually(async () => expect(await wait()).toEqual([{ wait: 'ready', status: 'queued' }]));
    await worker.stop();
  });

  it('are left to who handles them, while others work on', async () => {
    await addSuspects(1, 'strange');
    const [id] = await queue.add('work');
    const worker = await startWorker(database.url, { work: () => undefined }, { pollInterval: 60_000 });
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    await worker.stop();
    expect(await wait()).toEqual([{ wait: 'alone', status: 'queued' }]);
  });

  it('that somebody holds locked are run when they no longer are, and keep others waiting for a turn at most', async () => {
    const [held] = await addSuspects(1);
    const [id] = await queue.add('work');
    const client = await database.pool.connect();
    await client.query('begin');
    await client.query('select from pgqueue.job where id = $1 for update', [held]);
    const worker = await startWorker(database.url, { suspect: () => undefined, work: () => undefined }, FAST);
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    await client.query('rollback');
    client.release();
    await worker.event('settled', ({ ids }) => ids.includes(held!));
    await worker.stop();
  });
});

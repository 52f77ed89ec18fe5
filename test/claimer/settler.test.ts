import { Bell } from '../../lib/waiting/bell.js';
import { Dispatcher } from '../../lib/claimer/dispatcher.js';
import type { Settler } from '../../lib/claimer/settler.js';
import type { WorkerContext } from '../../lib/claimer/worker-context.js';
import {
  blockedBackend,
  createTestDatabase,
  deferred,
  onPool,
  openSession,
  type Queue,
  type Session,
  startWorker,
  type TestDatabase,
} from '../support/index.js';

describe('the outcomes of a worker', () => {
  let database: TestDatabase;
  let queue: Queue;
  let session: Session;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    session = await openSession(database);
  });
  afterEach(async () => {
    await session.end();
    await database.drop();
  });

  /** No outcome can be written until the session commits. */
  async function blockSettles(): Promise<void> {
    await session.begin();
    await session.db.query('lock table pgqueue.job_log in access exclusive mode');
  }

  /** A worker of which each job ends when its deferred does. */
  async function startHeld(count: number) {
    const ids = await queue.add(...Array.from({ length: count }, () => ({})));
    const ends = new Map(ids.map((id) => [id, deferred()]));
    const worker = await startWorker(database.url, { work: ({ id }) => ends.get(id)?.promise }, { concurrency: count });
    await worker.event('claimed', ({ jobs }) => jobs.length === count);
    const batches = () => worker.events.flatMap((event) => (event.type === 'settled' ? [event.ids.toSorted()] : []));
    return { ids, worker, batches, end: (id: string) => ends.get(id)?.resolve() };
  }

  it('go together when they end together', async () => {
    const { ids, worker, batches, end } = await startHeld(5);
    ids.forEach(end);
    await worker.event('settled');
    expect(batches()).toEqual([ids]);
    await worker.stop();
  });

  it('go in parts when there is much of them', async () => {
    const ids = await queue.add(...Array.from({ length: 20 }, () => ({})));
    const [all, end] = [deferred(), deferred()];
    let begun = 0;
    const work = async () => {
      if (++begun === ids.length) all.resolve();
      await end.promise;
      return 'x'.repeat(1_000_000);
    };
    const worker = await startWorker(database.url, { work }, { concurrency: ids.length });
    await all.promise;
    end.resolve();
    const batches = () => worker.events.flatMap((event) => (event.type === 'settled' ? [event.ids.length] : []));
    await worker.event('settled', () => batches().reduce((sum, size) => sum + size, 0) === ids.length);
    expect(Math.max(...batches())).toBeLessThanOrEqual(8);
    await worker.stop();
  });

  it('gather while a write is under way, and go together in the next', async () => {
    const { ids, worker, batches, end } = await startHeld(4);
    await blockSettles();
    const [first, ...others] = ids as [string, ...string[]];
    end(first);
    await blockedBackend(database, 'settle');
    for (const id of others) {
      end(id);
      await worker.event('ended', ({ job }) => job.id === id);
    }
    expect(batches()).toEqual([]);
    await session.commit();
    await worker.event('settled', (event) => event.ids.includes(others[0]!));
    expect(batches()).toEqual([[first], others]);
    await worker.stop();
  });

  it.each([0, 1, 2, 3, 4, 5, 6])(
    'are written when they come %i steps after the end of the write before',
    async (steps) => {
      const settled = deferred();
      const [first, second] = await queue.add('first', 'second');
      const follow = async () => {
        await settled.promise;
        for (let step = 0; step < steps; step++) await Promise.resolve();
      };
      const worker = await startWorker(
        database.url,
        { first: () => undefined, second: steps === 0 ? () => settled.promise : follow },
        { observe: ({ type }) => type === 'settled' && settled.resolve() },
      );
      await worker.event('settled', ({ ids }) => ids.includes(first!));
      await worker.event('settled', ({ ids }) => ids.includes(second!));
      await worker.stop();
    },
  );

  it('are written again when the connection broke, and the handler runs once', async () => {
    const { ids, worker, batches, end } = await startHeld(2);
    await blockSettles();
    ids.forEach(end);
    await session.db.query('select pg_terminate_backend($1)', [await blockedBackend(database, 'settle')]);
    await worker.event('error', ({ task }) => task === 'settle');
    await session.commit();
    await worker.event('settled');
    expect(batches()).toEqual([ids]);
    expect(await database.query('select status, attempt from pgqueue.job_log')).toEqual([
      { status: 'successful', attempt: 1 },
      { status: 'successful', attempt: 1 },
    ]);
    expect(worker.events.filter(({ type }) => type === 'ended')).toHaveLength(2);
    await worker.stop();
  });

  it('of other jobs are written while somebody holds one job locked', async () => {
    const { ids, worker, end } = await startHeld(3);
    const [held, ...others] = ids as [string, ...string[]];
    await session.begin();
    await session.db.query('select from pgqueue.job where id = $1 for update', [held]);
    ids.forEach(end);
    await worker.event('settled', (event) => others.every((id) => event.ids.includes(id)));
    expect(worker.events.filter(({ type }) => type === 'refused')).toEqual([]);
    await session.commit();
    await worker.event('settled', (event) => event.ids.includes(held));
    await worker.stop();
    expect(await database.query('select from pgqueue.claim')).toEqual([]);
  });

  it('take their claim with them, also when somebody holds its row for a moment', async () => {
    const { ids, worker, end } = await startHeld(1);
    await session.begin();
    await session.db.query('select from pgqueue.claim for update');
    ids.forEach(end);
    await worker.event('settled');
    expect(await database.query('select from pgqueue.claim')).toHaveLength(1);
    await session.commit();
    await worker.stop();
    expect(await database.query('select from pgqueue.claim')).toEqual([]);
  });

  it('are not left to pile up while they can not be written, and what waits for them goes on afterwards', async () => {
    await queue.add(...Array.from({ length: 5_000 }, () => ({})));
    await blockSettles();
    const [many, all] = [deferred(), deferred()];
    let runs = 0;
    const work = () => {
      runs += 1;
      if (runs === 2_000) many.resolve();
      if (runs === 5_000) all.resolve();
    };
    const worker = await startWorker(database.url, { work }, { concurrency: 100, pollInterval: 60_000 });
    await many.promise;
    await session.commit();
    await all.promise;
    await worker.stop();
    expect(await database.query('select from pgqueue.job')).toEqual([]);
  });
});

describe('a dispatcher', () => {
  it.each([
    [1_999, 10],
    [2_000, 0],
  ])('has, with %i outcomes unwritten, %i free slots', (backlog, free) => {
    const context = { options: { concurrency: 10 } } as WorkerContext;
    expect(new Dispatcher(context, { backlog } as Settler, new Bell()).wanted).toBe(free);
  });
});

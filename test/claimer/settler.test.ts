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
});

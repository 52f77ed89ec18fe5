import {
  blockedBackend,
  createTestDatabase,
  deferred,
  onPool,
  openSession,
  type Queue,
  startWorker,
  terminateAll,
  type TestDatabase,
} from '../support/index.js';

describe('a worker whose connections break', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  it('goes on after all of them did, again and again', async () => {
    const worker = await startWorker(database.url, { work: () => undefined }, { pollInterval: 500 });
    await worker.event('listening');
    for (let round = 1; round <= 3; round++) {
      expect(await terminateAll(database)).toBeGreaterThan(0);
      const [id] = await queue.add({});
      await worker.event('settled', ({ ids }) => ids.includes(id!));
    }
    await worker.stop();
  });

  it('keeps the claim of a job that runs meanwhile, and runs it once', async () => {
    const [id] = await queue.add({});
    const end = deferred();
    const worker = await startWorker(database.url, { work: () => end.promise });
    const { jobs } = await worker.event('claimed');
    await terminateAll(database);
    end.resolve();
    expect((await worker.event('settled')).ids).toEqual([id]);
    await worker.stop();
    expect(await database.query('select attempt, status, claim_id from pgqueue.job_log')).toEqual([
      { attempt: 1, status: 'successful', claim_id: jobs[0]?.claimId },
    ]);
  });

  it.each([
    ['a claim', 'pgqueue.claim', 'claim'],
    ['an outcome', 'pgqueue.job_log', 'settle'],
  ] as const)('says so when it breaks under %s, and tries again', async (_, table, task) => {
    const session = await openSession(database);
    await session.begin();
    await session.db.query(`lock table ${table} in exclusive mode`);
    const [id] = await queue.add({});
    const worker = await startWorker(database.url, { work: () => undefined });
    await session.db.query('select pg_terminate_backend($1)', [await blockedBackend(database, task)]);
    await worker.event('error', (event) => event.task === task);
    await session.commit();
    expect((await worker.event('settled')).ids).toEqual([id]);
    await Promise.all([worker.stop(), session.end()]);
    expect(await database.query('select attempt, status from pgqueue.job_log')).toEqual([
      { attempt: 1, status: 'successful' },
    ]);
  });
});

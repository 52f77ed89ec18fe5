import {
  blockedBackend,
  createTestDatabase,
  deferred,
  eventually,
  onPool,
  openSession,
  type Queue,
  startWorker,
  type TestDatabase,
} from '../support/index.js';

const CONNECTED = `
  select query from pg_stat_activity where datname = current_database() and application_name like '%nestjs-pgqueue%'`;

describe('a worker that is stopped', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  const jobs = () => database.query('select id, status, attempt, claim_id from pgqueue.job order by id');
  const isEmpty = async () => expect(await database.query('select from pgqueue.claim')).toEqual([]);

  it('lets handlers end, writes what became of them, and claims no more', async () => {
    const [running, waiting] = await queue.add({}, {});
    const [begun, end] = [deferred(), deferred()];
    const work = () => {
      begun.resolve();
      return end.promise;
    };
    const worker = await startWorker(database.url, { work }, { concurrency: 1 });
    await begun.promise;
    const stopped = worker.stop();
    end.resolve();
    await stopped;
    expect(await jobs()).toEqual([{ id: waiting, status: 'queued', attempt: 0, claim_id: null }]);
    expect(await database.query('select job_id, status from pgqueue.job_log')).toEqual([
      { job_id: running, status: 'successful' },
    ]);
    await isEmpty();
  });

  it('gives back, with its attempt, what it was just claiming', async () => {
    const [id] = await queue.add({ maxAttempts: 1 });
    const session = await openSession(database);
    await session.begin();
    await session.db.query('lock table pgqueue.claim in exclusive mode');
    const ran: string[] = [];
    const worker = await startWorker(database.url, { work: (job) => void ran.push(job.id) });
    await blockedBackend(database, 'claim');
    const stopped = worker.stop();
    await session.commit();
    await Promise.all([stopped, session.end()]);
    expect(ran).toEqual([]);
    expect(await worker.event('claimed')).toMatchObject({ jobs: [{ id }] });
    expect(await jobs()).toEqual([{ id, status: 'queued', attempt: 0, claim_id: null }]);
    expect(await database.query('select from pgqueue.job_log')).toEqual([]);
    await isEmpty();
  });

  it('aborts a handler at shutdownTimeout and gives the job back with its attempt when it heeds the signal', async () => {
    const [id] = await queue.add({ maxAttempts: 1 });
    const worker = await startWorker(
      database.url,
      {
        work: (_, { signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      },
      { shutdownTimeout: 0 },
    );
    await worker.event('claimed');
    await worker.stop();
    expect(await worker.event('ended')).toMatchObject({ job: { id }, outcome: { type: 'released' } });
    expect(await jobs()).toEqual([{ id, status: 'queued', attempt: 0, claim_id: null }]);
    await isEmpty();
  });

  it('records a handler that still ends well when it is aborted', async () => {
    const [id] = await queue.add({});
    const work = (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    const worker = await startWorker(database.url, { work }, { shutdownTimeout: 0 });
    await worker.event('claimed');
    await worker.stop();
    expect(await database.query('select job_id, status from pgqueue.job_log')).toEqual([
      { job_id: id, status: 'successful' },
    ]);
  });

  it('does not wait for a handler that ignores the signal, whose late result counts for nothing', async () => {
    const [id, done] = await queue.add({ maxAttempts: 1 }, 'other');
    const end = deferred();
    const worker = await startWorker(
      database.url,
      { work: () => end.promise, other: () => undefined },
      { shutdownTimeout: 100 },
    );
    await worker.event('settled', ({ ids }) => ids.includes(done!));
    const startedAt = performance.now();
    await worker.stop();
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(await worker.event('aborted')).toMatchObject({ jobs: [{ id }] });

    end.resolve();
    await end.promise;
    expect(await jobs()).toEqual([{ id, status: 'queued', attempt: 0, claim_id: null }]);
    const successor = await startWorker(database.url, { work: () => undefined });
    await successor.event('settled');
    await successor.stop();
    expect(await database.query('select attempt, status from pgqueue.job_log where job_id = $1', [id])).toEqual([
      { attempt: 1, status: 'successful' },
    ]);
  });

  it('leaves what it gives back to others at once', async () => {
    const [id] = await queue.add({});
    const one = await startWorker(database.url, { work: () => new Promise(() => undefined) }, { shutdownTimeout: 0 });
    await one.event('claimed');
    const other = await startWorker(database.url, { work: () => undefined }, { pollInterval: 60_000 });
    await other.event('listening');
    await one.stop();
    expect(await other.event('claimed')).toMatchObject({ jobs: [{ id, attempt: 1 }] });
    await other.event('settled');
    await other.stop();
  });

  it('ends although the last outcome can not be written, whose job is then recovered', async () => {
    const [id] = await queue.add({});
    const session = await openSession(database);
    const end = deferred();
    const worker = await startWorker(database.url, { work: () => end.promise });
    await worker.event('claimed');
    await session.begin();
    await session.db.query('select from pgqueue.job where id = $1 for update', [id]);
    end.resolve();
    await worker.stop();
    await eventually(async () => expect(await database.query(CONNECTED)).toEqual([])); // a statement may still be under way
    await session.end();
    await database.query(`update pgqueue.claim set heartbeat_at = '-infinity'`);
    expect(await queue.dissolve()).toMatchObject([{ id, outcome: 'lost' }]);
  });
});

import {
  createTestDatabase,
  deferred,
  onPool,
  type Queue,
  spawnWorker,
  startWorker,
  type TestDatabase,
} from '../support/index.js';

const HEARTBEAT_TIMEOUT = 2_000;

describe('the jobs of a worker', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  const ended = `select job_id, attempt, status, worker from pgqueue.job_log order by status, job_id`;

  it('that is stopped by SIGSTOP for longer than heartbeatTimeout are taken over, and end once though it goes on', async () => {
    const ids = await queue.add({}, {}, {});
    const stopped = spawnWorker('claimer/fixtures/stopped-worker.ts', { DATABASE_URL: database.url, JOBS: '3' });
    await stopped.waitForLine(/^running$/);
    stopped.kill('SIGSTOP');
    const other = await startWorker(
      database.url,
      { work: () => undefined },
      { label: 'other', heartbeatTimeout: HEARTBEAT_TIMEOUT },
    );
    const taken = () => other.events.flatMap((event) => (event.type === 'settled' ? event.ids : []));
    await other.event('settled', () => taken().length === ids.length);
    stopped.kill('SIGCONT');
    await stopped.waitForLine(/^aborted PGQUEUE_CLAIM_LOST$/);
    await stopped.waitForLine(new RegExp(`^refused ${ids.toSorted().join()}$`));
    expect(await stopped.exited).toEqual({ code: 0, signal: null });
    await other.stop();
    expect(await database.query(ended)).toEqual([
      ...ids.map((id) => ({ job_id: id, attempt: 1, status: 'lost', worker: 'stopped' })),
      ...ids.map((id) => ({ job_id: id, attempt: 1, status: 'successful', worker: 'other' })),
    ]);
  });

  it('that is stopped by SIGSTOP for less stay with it', async () => {
    const [id] = await queue.add({});
    const stopped = spawnWorker('claimer/fixtures/stopped-worker.ts', { DATABASE_URL: database.url, JOBS: '1' });
    await stopped.waitForLine(/^running$/);
    const [before] = await database.query<{ at: Date }>('select heartbeat_at as at from pgqueue.claim');
    stopped.kill('SIGSTOP');
    expect(await queue.dissolve(HEARTBEAT_TIMEOUT)).toEqual([]);
    stopped.kill('SIGCONT');
    // It beats again.
    const beaten = () => database.query('select from pgqueue.claim where heartbeat_at > $1', [before?.at]);
    while ((await beaten()).length === 0);
    expect(await database.query('select id, status, attempt from pgqueue.job')).toEqual([
      { id, status: 'picked', attempt: 1 },
    ]);
    stopped.kill('SIGKILL');
    await stopped.exited;
  });

  it('stay with it for as long as it beats, also when they take longer than heartbeatTimeout', async () => {
    const [id] = await queue.add({});
    const end = deferred();
    const worker = await startWorker(
      database.url,
      { work: () => end.promise },
      { heartbeatTimeout: HEARTBEAT_TIMEOUT },
    );
    await worker.event('claimed');
    // By the clock of the database.
    const age = () =>
      database.query(`select from pgqueue.job where run_at < clock_timestamp() - $1 * interval '1 ms'`, [
        HEARTBEAT_TIMEOUT * 1.5,
      ]);
    while ((await age()).length === 0) expect(await queue.dissolve(HEARTBEAT_TIMEOUT)).toEqual([]);
    end.resolve();
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    await worker.stop();
  });

  it('that is alone stay with it, although its event loop is blocked for longer than heartbeatTimeout', async () => {
    await queue.add('block', 'beside');
    const end = deferred();
    const worker = await startWorker(
      database.url,
      {
        block: async () => {
          await worker.event('claimed');
          blockEventLoop(3 * SHORT_TIMEOUT);
          end.resolve();
        },
        beside: () => end.promise,
      },
      { heartbeatTimeout: SHORT_TIMEOUT, pollInterval: 20 },
    );
    const settled = () => worker.events.flatMap((event) => (event.type === 'settled' ? event.ids : []));
    await worker.event('settled', () => settled().length === 2);
    await worker.stop();
    const bad = ['claim-lost', 'dissolved', 'refused', 'error'];
    expect(worker.events.filter(({ type }) => bad.includes(type))).toEqual([]);
    expect(
      await database.query(`select from pgqueue.job_log where status = 'successful' and attempt = 1`),
    ).toHaveLength(2);
  });
});

const SHORT_TIMEOUT = 400;

function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

import { createOwnServer, spawnWorker, type WorkerProcess } from '../support/index.js';
import { useGround } from './support/index.js';

const SHUTDOWN_TIMEOUT = 500;
const MARGIN = 3_000;

describe('a process with a worker', () => {
  const ground = useGround();
  const processes: WorkerProcess[] = [];
  afterEach(async () => {
    processes.forEach((each) => each.kill('SIGKILL'));
    await Promise.all(processes.splice(0).map(({ exited }) => exited));
  });

  const start = async (env: NodeJS.ProcessEnv = {}) => {
    const settings = { DATABASE_URL: ground.url, NODE_ENV: 'production', SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}` };
    const worker = spawnWorker('nest/fixtures/worker.ts', { ...settings, ...env });
    processes.push(worker);
    const [, url = ''] = await worker.waitForLine(/^ready at (.*)$/);
    const post = async (path: string) => {
      const response = await fetch(`${url}/${path}`, { method: 'POST', headers: { connection: 'close' } });
      return { status: response.status, id: ((await response.json()) as { id: string }).id };
    };
    return { ...worker, post };
  };

  const timed = async <T>(work: Promise<T>) => {
    const began = performance.now();
    return { result: await work, took: performance.now() - began };
  };

  it('ends by SIGTERM within shutdownTimeout and a moment, though a handler ignores it', async () => {
    const worker = await start();
    await worker.post('jobs/stubborn');
    await worker.waitForLine(/stubborn began/);
    worker.kill('SIGTERM');
    const { result, took } = await timed(worker.exited);
    expect(result).toEqual({ code: null, signal: 'SIGTERM' });
    expect(took).toBeLessThan(SHUTDOWN_TIMEOUT + MARGIN);
    expect(await ground.database.query('select status, attempt, claim_id from pgqueue.job')).toEqual([
      { status: 'queued', attempt: 0, claim_id: null },
    ]);
    expect(await ground.database.query('select from pgqueue.claim')).toEqual([]);
  });

  it('ends by itself after app.close(), though a handler never settles', async () => {
    const worker = await start({ ENDS_BY: 'close' });
    await worker.post('jobs/stubborn');
    await worker.waitForLine(/stubborn began/);
    worker.kill('SIGTERM');
    await worker.waitForLine(/closed/);
    const { result, took } = await timed(worker.exited);
    expect(result).toEqual({ code: 0, signal: null });
    expect(took).toBeLessThan(1_000);
  });

  it('ends by itself after app.close() with the database down', async () => {
    const server = await createOwnServer();
    const worker = await start({ DATABASE_URL: server.url, ENDS_BY: 'close' });
    await worker.post('jobs/stubborn');
    await worker.waitForLine(/stubborn began/);
    await server.stopServer();
    worker.kill('SIGTERM');
    const { result, took } = await timed(worker.exited);
    await server.drop();
    expect(result).toEqual({ code: 0, signal: null });
    expect(took).toBeLessThan(SHUTDOWN_TIMEOUT + MARGIN);
  });

  it('stores what requests enqueue while it goes down, also those that began before and end after the drain', async () => {
    await ground.database.query('create table public.ran (job_id bigint, attempt int)');
    const worker = await start();
    await worker.post('jobs/stubborn');
    await worker.waitForLine(/stubborn began/);
    const late = worker.post('late-jobs/work');
    await worker.waitForLine(/late request began/);
    worker.kill('SIGTERM');
    const stored: string[] = [];
    // Until it accepts no more connections, which is after the drain.
    for (let answer; (answer = await worker.post('jobs/work').catch(() => undefined)) !== undefined;) {
      expect(answer.status).toBe(201);
      stored.push(answer.id);
    }
    stored.push((await late).id);
    await worker.exited;
    expect(stored.length).toBeGreaterThan(10);
    const ids = await ground.database.query<{ id: string }>(
      `select id from pgqueue.job where entrypoint = 'work' union select job_id from pgqueue.job_log`,
    );
    expect(ids.map(({ id }) => id).sort()).toEqual(stored.sort());
  });

  it('warns when it would not hear of SIGTERM', async () => {
    const worker = await start({ ENDS_BY: 'nothing' });
    await worker.waitForLine(/Call app\.enableShutdownHooks\(\) before app\.listen\(\)/);
    worker.kill('SIGTERM');
    await worker.exited;
  });
});

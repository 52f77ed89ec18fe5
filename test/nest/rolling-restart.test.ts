import { setTimeout as delay } from 'node:timers/promises';
import { eventually, onPool, spawnWorker, type Exit, type WorkerProcess } from '../support/index.js';
import { useGround } from './support/index.js';

const WORKERS = 4;
const RESTARTS = 2 * WORKERS;
/** From one restart to the next, whether or not the last one has booted. */
const INTERVAL = 2_000;
// Shorter than the longest jobs, so that these are aborted, and longer than the others.
const SHUTDOWN_TIMEOUT = 500;
const DURATIONS = [0, 0, 5, 5, 20, 20, 50, 50, 100, 900];

describe('workers that are restarted again and again under load', () => {
  const ground = useGround();
  const workers: WorkerProcess[] = [];
  afterEach(async () => {
    workers.forEach((each) => each.kill('SIGKILL'));
    await Promise.all(workers.splice(0).map(({ exited }) => exited));
  });

  const start = async () => {
    const env = { DATABASE_URL: ground.url, NODE_ENV: 'production', SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}` };
    const worker = spawnWorker('nest/fixtures/worker.ts', env);
    workers.push(worker);
    await worker.waitForLine(/^ready/);
    return worker;
  };
  const stop = (worker: WorkerProcess): Promise<Exit> => {
    worker.kill('SIGTERM');
    return worker.exited;
  };

  it('run each job once, spend no attempt, and leave nothing behind', async () => {
    const { database } = ground;
    await database.query('create table public.ran (job_id bigint, attempt int)');
    const running = await Promise.all(Array.from({ length: WORKERS }, start));
    const restarted: Promise<WorkerProcess>[] = [];
    const over = new AbortController();

    const enqueueing = (async () => {
      const ids: string[] = [];
      while (!over.signal.aborted) {
        const payloads = Array.from({ length: 10 }, (_, index) => DURATIONS[index % DURATIONS.length]);
        ids.push(
          ...(await onPool(database).add(...payloads.map((ms) => ({ payload: JSON.stringify(ms), maxAttempts: 1 })))),
        );
        await delay(100, undefined, { signal: over.signal }).catch(() => undefined);
      }
      return ids;
    })();

    const exits: Exit[] = [];
    const restarts: Promise<void>[] = [];
    for (let restart = 0; restart < RESTARTS; restart++) {
      const next = start();
      const old = restart < WORKERS ? running[restart]! : await restarted[restart - WORKERS]!;
      restarted.push(next);
      restarts.push(stop(old).then((exit) => void exits.push(exit)));
      await delay(INTERVAL);
    }
    await Promise.all(restarts);
    over.abort();
    const ids = await enqueueing;
    await eventually(async () => expect(await database.query('select from pgqueue.job')).toEqual([]), {
      timeout: 10_000,
    });
    const last = await Promise.all(restarted.slice(-WORKERS));
    exits.push(...(await Promise.all(last.map(stop))));

    expect(exits).toHaveLength(RESTARTS + WORKERS);
    expect(new Set(exits.map(({ signal }) => signal))).toEqual(new Set(['SIGTERM']));
    const once = [...ids].sort().map((id) => ({ job_id: id, attempt: 1 }));
    const sorted = async (text: string) =>
      (await database.query<{ job_id: string }>(text)).sort((one, other) => (one.job_id < other.job_id ? -1 : 1));
    expect(await sorted('select job_id, attempt from public.ran')).toEqual(once);
    expect(await sorted(`select job_id, attempt from pgqueue.job_log where status = 'successful'`)).toEqual(once);
    expect(await database.query(`select from pgqueue.job_log where status <> 'successful'`)).toEqual([]);
    expect(await database.query('select from pgqueue.claim')).toEqual([]);
  }, 90_000);
});

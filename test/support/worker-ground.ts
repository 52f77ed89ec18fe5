import type { PgQueueOptions } from '../../lib/options.js';
import { startPooler } from './pooler.js';
import { onPool, type Queue } from './queue.js';
import { startProxy, type TcpProxy } from './tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';
import { startApp, type TestApp } from './test-app.js';
import { startWorker, type TestHandlers, type TestWorker, type TestWorkerOptions } from './test-worker.js';

/** A database of a test's own, workers on it, and ways to disturb them. What is left is stopped at the end of the test. */
export interface WorkerGround {
  readonly database: TestDatabase;
  readonly queue: Queue;
  /** Starts a worker on the test's database, or at `url`. */
  start(handlers?: TestHandlers, options?: TestWorkerOptions & { url?: string }): Promise<TestWorker>;
  /** A way to the test's database, or to `url`. */
  proxy(url?: string): Promise<TcpProxy>;
  /** URL of a PgBouncer before the test's database. */
  pooler(mode: 'transaction' | 'session'): Promise<string>;
  /** A Nest application on the test's database, or at `url`, that only produces. */
  producer(options?: PgQueueOptions & { url?: string }): Promise<TestApp>;
  /** Adds a job that nobody is notified of. */
  addSilently(): Promise<unknown>;
  /** What the log has of each attempt, the oldest first. */
  log(): Promise<{ attempt: number; status: string }[]>;
}

const LOG = 'select attempt, status from pgqueue.job_log order by ended_at, job_id, attempt';

/** Prepares a ground for each test of the `describe` that it is called in. */
export function useWorkerGround(open: () => Promise<TestDatabase> = createTestDatabase): WorkerGround {
  let database!: TestDatabase;
  const workers = new Set<TestWorker>();
  const closers: (() => Promise<void>)[] = [];
  beforeEach(async () => void (database = await open()));
  afterEach(async () => {
    await Promise.all([...workers].map((worker) => worker.stop()));
    for (const close of closers.splice(0).toReversed()) await close();
    await database.drop();
  });
  return {
    get database() {
      return database;
    },
    get queue() {
      return onPool(database);
    },
    start: async (handlers = { work: () => undefined }, { url = database.url, ...options } = {}) => {
      const worker = await startWorker(url, handlers, options);
      const stop = () => {
        workers.delete(kept);
        return worker.stop();
      };
      const kept = { ...worker, stop };
      workers.add(kept);
      return kept;
    },
    proxy: async (url = database.url) => {
      const proxy = await startProxy(url);
      closers.push(() => proxy.close());
      return proxy;
    },
    pooler: async (mode) => {
      const pooler = await startPooler(database.url, mode);
      closers.push(() => pooler.stop());
      return pooler.url;
    },
    producer: async ({ url = database.url, ...options } = {}) => {
      const app = await startApp(url, {}, { ...options, worker: false });
      closers.push(() => app.close());
      return app;
    },
    addSilently: () => database.query(`insert into pgqueue.job (entrypoint) values ('work')`),
    log: () => database.query(LOG),
  };
}

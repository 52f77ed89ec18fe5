import { publicToken } from '../tokens.js';

/** What became of one attempt in a `drain()`. */
export interface DrainedJob {
  readonly id: string;
  readonly entrypoint: string;
  /** 1 for the first. */
  readonly attempt: number;
  /**
   * `retried`, `failed` (held) and `exception` (dropped) as the policy decided; `canceled`: by somebody; `released`: the drain was stopped, and the job is queued again without
   * having spent the attempt; `lost`: how it ended could not be written, or another worker has taken over, and so it is run again.
   */
  readonly status: 'successful' | 'retried' | 'failed' | 'exception' | 'canceled' | 'released' | 'lost';
  /** Name and message of what the handler threw. */
  readonly error?: string;
}

/**
 * The worker of a queue, for processes that decide themselves when jobs run (`worker: { autoStart: false }`): cron jobs,
 * serverless functions, tests. Otherwise the module starts and stops it with the application. Of calls at the same time the last
 * decides. Use it from the application's hooks on: in a constructor or a factory, handlers may not be made yet.
 * Inject it by type; `@InjectPgQueue(name, PgQueueWorker)` is that of a named queue.
 */
export interface PgQueueWorker {
  /**
   * Begins to claim jobs and to run them; nothing happens when it runs. While it stops, it starts when that is over.
   * @throws WorkerDisabledError with `worker: false`; QueueClosedError after the application was closed
   */
  start(): Promise<void>;

  /**
   * Claims no more, lets handlers end within `shutdownTimeout`, and resolves when all outcomes are written. Nothing happens
   * when it doesn't run; drains go on.
   */
  stop(): Promise<void>;

  /**
   * Runs all jobs that are due, `worker.concurrency` at a time, those that they enqueue among them, and resolves when none is
   * left. Jobs that are due later, retries with a delay among them, stay queued.
   * Several may run at the same time, also beside a started worker: they share the jobs.
   * @param options.signal stops it early, as the end of the application does: it claims no more, and handlers get
   * `shutdownTimeout` to end
   * @returns every attempt, in the order in which they ended
   * @throws as `start()`, and what PostgreSQL answers when no jobs can be claimed; what was claimed has ended by then
   */
  drain(options?: { signal?: AbortSignal | undefined }): Promise<DrainedJob[]>;
}

export const PgQueueWorker = publicToken<PgQueueWorker>('PgQueueWorker');

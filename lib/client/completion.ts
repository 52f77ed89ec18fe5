import type { EndStatus } from '../domain/job-end.js';
import { publicToken } from '../tokens.js';

export interface WaitOptions {
  /** Milliseconds after which the wait is over, whatever became of the job. @default none */
  timeout?: number | undefined;
  /** Ends the wait, and leaves the job as it is. */
  signal?: AbortSignal | undefined;
}

/** How a job has ended. */
export interface JobCompletion {
  readonly status: EndStatus;
  /** What its handler has returned, through JSON and back. Absent when that was `undefined`, or too large to be kept. */
  readonly result?: unknown;
  /** Name and message of the last failure, why it was canceled, or why a result isn't kept. */
  readonly error?: string;
}

/**
 * Waits for jobs. Any process can, with `worker: false` too. Inject it by type; `@InjectPgQueue(name, PgQueueCompletion)` is that
 * of a named queue.
 */
export interface PgQueueCompletion {
  /**
   * Resolves when the job has ended in whatever way, `failed` among them, and at once when it has ended before. A retry is no end.
   * Any number of waits share one connection that listens, and look at the database together where notifications don't arrive.
   * @param id as `enqueue()` returned it
   * @throws InvalidOptionError; UnknownJobError, also in the transaction in which the job was enqueued: wait after the commit;
   * WaitTimeoutError; the reason of `signal`; QueueClosedError
   */
  waitFor(id: string, options?: WaitOptions): Promise<JobCompletion>;
}

export const PgQueueCompletion = publicToken<PgQueueCompletion>('PgQueueCompletion');

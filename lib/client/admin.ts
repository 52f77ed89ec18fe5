import type { EntrypointStatistics } from '../domain/statistics.js';
import type { EntrypointCounts, JobDetails, JobRecord, JobStatus } from '../domain/job-record.js';
import { publicToken } from '../tokens.js';

/** Which jobs to list, and how many. */
export interface JobFilter {
  status?: JobStatus | undefined;
  entrypoint?: string | undefined;
  /** Together with `entrypoint`, to which the key belongs. */
  dedupeKey?: string | undefined;
  /** Jobs on a page, 1 to 1000. @default 100 */
  limit?: number | undefined;
  /** The id of the last job of the page before. @default from the newest */
  after?: string | undefined;
}

/** Which jobs to remove. What is left out restricts nothing; a value that is `undefined` is refused. */
export interface ClearFilter {
  /** @default both */
  status?: 'queued' | 'failed';
  entrypoint?: string;
}

/** A time to look at. All minutes that it touches count. */
export interface StatisticsFilter {
  from: Date;
  /** @default now */
  to?: Date | undefined;
  /** Milliseconds that each entry spans, a multiple of 60,000. The first begins with the minute of `from`. @default all of it */
  step?: number | undefined;
}

/** Ids in the order in which they were given. */
export interface RequeueResult {
  readonly requeued: readonly string[];
  /** Still failed, because a job that is queued or runs has their dedupeKey. */
  readonly conflicts: readonly string[];
}

/** Ids in the order in which they were given. */
export interface CancelResult {
  /** Did not run, and are gone. */
  readonly canceled: readonly string[];
  /** Run, and their signals are about to abort. */
  readonly requested: readonly string[];
}

/** Ids in the order in which they were given. */
export interface RemoveResult {
  readonly removed: readonly string[];
  /** Run, and so were left alone: cancel them. */
  readonly running: readonly string[];
}

/**
 * Looks at the queue and intervenes in it, for operators. Ids are those of `enqueue`, any number of them. Each action may be
 * repeated: ids that it does not apply to, or not any more, are absent from its result. Many ids are written in several
 * transactions, so after an error, repeat the call. Inject it by type; `@InjectPgQueue(name, PgQueueAdmin)` is that of a named queue.
 *
 * All of them throw InvalidOptionError, before anything is written, and QueueClosedError.
 */
export interface PgQueueAdmin {
  /** Of each entrypoint that has jobs or is paused, by name. Reads all jobs. */
  counts(): Promise<EntrypointCounts[]>;

  /** One page of the jobs that wait, run or have failed, the newest (highest id) first. */
  jobs(filter?: JobFilter): Promise<JobRecord[]>;

  /** A job and its attempts, also when it has ended; `undefined` when there is neither a row nor a log of it. */
  job(id: string): Promise<JobDetails | undefined>;

  /**
   * How attempts have ended and how long handlers ran, for each entrypoint and step of time, in the order of both. Steps without
   * any are left out.
   */
  statistics(range: StatisticsFilter): Promise<EntrypointStatistics[]>;

  /**
   * Runs failed jobs again, now and with all their attempts. One whose dedupeKey was taken meanwhile stays failed. Of several with
   * the same key the first in the list runs.
   */
  requeue(ids: readonly string[]): Promise<RequeueResult>;

  /**
   * Ends jobs that wait or have failed, and aborts the signals of those that run with a `JobCanceled`. These end as `canceled` when
   * their handler throws, whatever it throws, and as `successful` when it returns.
   */
  cancel(ids: readonly string[]): Promise<CancelResult>;

  /** Deletes jobs that wait or have failed. Their log stays. */
  remove(ids: readonly string[]): Promise<RemoveResult>;

  /**
   * Claims no more jobs of an entrypoint, on any worker. Those that run go on, and enqueueing too.
   * @returns whether it was not paused before
   */
  pause(entrypoint: string): Promise<boolean>;

  /** @returns whether it was paused before */
  resume(entrypoint: string): Promise<boolean>;

  /**
   * Deletes all jobs that wait or have failed and fit, in many transactions, but for those that a worker is about to run and those
   * enqueued meanwhile. `{}` fits all.
   * @returns how many
   */
  clear(filter: ClearFilter): Promise<number>;
}

export const PgQueueAdmin = publicToken<PgQueueAdmin>('PgQueueAdmin');

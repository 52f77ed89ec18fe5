import type { EntityManager } from 'typeorm';
import type { ConflictPolicy } from '../domain/conflict-policy.js';
import { publicToken } from '../tokens.js';

/** Options of one job. */
export interface EnqueueOptions {
  /** Higher runs first; a 32-bit integer. @default 0 */
  priority?: number | undefined;
  /** Milliseconds from now, by the database's clock. @default 0 */
  delay?: number | undefined;
  /** The moment from which the job is due; one that is past means now. Not together with `delay`. */
  runAt?: Date | undefined;
  /** Any JSON object that travels beside the payload. @default {} */
  headers?: Readonly<Record<string, unknown>> | undefined;
  /**
   * A name for what the job does, 1 to 1024 bytes: while a job of that entrypoint with this key is queued or runs, no second one is
   * enqueued.
   */
  dedupeKey?: string | undefined;
  /**
   * What to do when the key is taken: `'skip'` leaves the job that has it, `'raise'` throws a `DuplicateJobError`, `'replace'` gives
   * the payload, headers, priority, time and attempts of this job to the one that has it, unless that is running. @default 'skip'
   */
  onConflict?: ConflictPolicy | undefined;
  /** Attempts in all. @default the `retry.maxAttempts` of its entrypoint */
  maxAttempts?: number | undefined;
}

/** Where jobs are written. */
export interface EnqueueTarget {
  /**
   * The manager of your transaction: the jobs are committed, or rolled back, with it. One without a transaction, such as
   * `dataSource.manager`, commits at once.
   * @default a transaction of their own
   */
  manager?: EntityManager | undefined;
}

/** A job for `enqueueMany`. */
export interface JobInput extends EnqueueOptions {
  entrypoint: string;
  /** Anything that `JSON.stringify` can write. `undefined` stays `undefined`. */
  payload?: unknown;
}

export interface EnqueuedJob {
  /** A bigint in decimal digits. */
  readonly id: string;
  /** Whether the key was taken. `id` is that of the job that has it. */
  readonly duplicate: boolean;
  /** With `onConflict: 'replace'` and a key that was taken: whether that job has become this one. `false`: it is running. */
  readonly replaced?: boolean;
}

/** Enqueues jobs. Inject it by type; `@InjectPgQueue(name)` is that of a named queue. */
export interface PgQueueProducer {
  /**
   * Enqueues one job. When it resolves, the job is committed, or written in the transaction of `manager`.
   * @param payload anything that `JSON.stringify` can write in at most 10 MiB; the handler gets it through JSON and back.
   * `undefined` stays `undefined`
   * @throws InvalidOptionError, InvalidPayloadError, DuplicateJobError, ManagerError, QueueClosedError
   */
  enqueue(entrypoint: string, payload?: unknown, options?: EnqueueOptions & EnqueueTarget): Promise<EnqueuedJob>;

  /**
   * Enqueues any number of jobs in one statement: all or none. The results are in the order of the jobs. Of those with a key, the
   * ids follow the order of the keys.
   * @throws as `enqueue`, naming the index of the job
   */
  enqueueMany(jobs: readonly JobInput[], target?: EnqueueTarget): Promise<EnqueuedJob[]>;
}

export const PgQueueProducer = publicToken<PgQueueProducer>('PgQueueProducer');

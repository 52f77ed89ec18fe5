import type { JobHeaders } from './job.js';

export const JOB_STATUSES = ['queued', 'picked', 'failed'] as const;
/** `queued`: waits for its time or a worker; `picked`: runs; `failed`: held after its last failure. */
export type JobStatus = (typeof JOB_STATUSES)[number];

export const ATTEMPT_STATUSES = [
  'successful',
  'retried',
  'failed',
  'exception',
  'canceled',
  'lost',
  'deleted',
] as const;
/**
 * How an attempt, or a job, has ended. `retried`: it runs again; `failed`: held; `exception`: dropped after its last failure;
 * `lost`: its worker died; `deleted`: by an operator.
 */
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** A job as its row has it. */
export interface JobRecord {
  /** A bigint in decimal digits. */
  readonly id: string;
  readonly entrypoint: string;
  readonly status: JobStatus;
  /** Higher runs first. */
  readonly priority: number;
  /** Attempts that have begun; 0 before the first. */
  readonly attempt: number;
  /** `undefined`: as its entrypoint has it, and no worker has claimed it yet. */
  readonly maxAttempts: number | undefined;
  /** What was enqueued, through JSON and back. */
  readonly payload: unknown;
  readonly headers: JobHeaders;
  readonly dedupeKey: string | undefined;
  /** Of a job that is picked. */
  readonly claimId: string | undefined;
  /** Somebody has canceled the job, and its handler still runs. */
  readonly cancelRequested: boolean;
  readonly createdAt: Date;
  /** From when it is, or was, due. */
  readonly runAt: Date;
  /** Name and message of what went wrong last. */
  readonly lastError: string | undefined;
}

/** How an attempt ended, or a job that did not run. */
export interface AttemptRecord {
  /** 1 for the first; 0 when the job ended before it. */
  readonly attempt: number;
  readonly status: AttemptStatus;
  readonly endedAt: Date;
  /** Milliseconds that the handler ran. */
  readonly duration: number | undefined;
  /** Label of the worker: its host and process. */
  readonly worker: string | undefined;
  readonly claimId: string | undefined;
  /** Name and message. */
  readonly error: string | undefined;
  readonly stack: string | undefined;
  /** What the handler returned, through JSON and back. */
  readonly result: unknown;
}

/** All that is known of one job. */
export interface JobDetails {
  readonly id: string;
  readonly entrypoint: string;
  /** That of its row, or how it ended. */
  readonly status: JobStatus | AttemptStatus;
  /** Its row; `undefined` when it has ended. */
  readonly job: JobRecord | undefined;
  /** The last 100, the oldest first. */
  readonly attempts: readonly AttemptRecord[];
}

/** The jobs of one entrypoint. */
export interface EntrypointCounts {
  readonly entrypoint: string;
  /** All that wait, the delayed among them. */
  readonly queued: number;
  /** Those of the queued whose time has not come. */
  readonly delayed: number;
  /** Those that run. */
  readonly picked: number;
  readonly failed: number;
  /** Since when its jobs are not claimed; `undefined` when they are. */
  readonly pausedAt: Date | undefined;
}

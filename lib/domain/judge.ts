import { isDelay } from './duration.js';
import { JobCanceled, WorkerShutdown } from './errors.js';
import type { ClaimedJob } from './job.js';
import { recordError, type Outcome } from './outcome.js';
import { retryDelay, type RetryPolicy } from './retry-policy.js';

export interface Failure {
  readonly job: Pick<ClaimedJob, 'attempt' | 'maxAttempts'>;
  readonly thrown: unknown;
  /** Why its signal was aborted, if it was. */
  readonly reason: unknown;
  readonly retry: RetryPolicy;
  /** A number from 0 to 1. */
  readonly dice: number;
}

/** What becomes of an attempt whose handler threw. */
export function judge({ job, thrown, reason, retry, dice }: Failure): Outcome {
  if (reason instanceof WorkerShutdown) return { type: 'released' };
  const error = recordError(thrown);
  if (reason instanceof JobCanceled) return { type: 'canceled', error };
  const delay = retryDelay(retry, job.attempt, dice);
  if (codeOf(thrown) === RETRY) return retryAsAsked(thrown, delay);
  if (codeOf(thrown) === FAIL || job.attempt >= job.maxAttempts) return { type: 'failed', error };
  return { type: 'retried', delay, error };
}

const RETRY = 'PGQUEUE_RETRY_JOB';
const FAIL = 'PGQUEUE_FAIL_JOB';

// By its code: the package exists in two builds, and each has classes of its own.
const codeOf = (thrown: unknown): unknown => propertyOf(thrown, 'code');

function propertyOf(thrown: unknown, name: 'code' | 'delay'): unknown {
  try {
    return typeof thrown === 'object' && thrown !== null
      ? (thrown as Partial<Record<string, unknown>>)[name]
      : undefined;
  } catch {
    return undefined; // a getter, or a proxy
  }
}

function retryAsAsked(thrown: unknown, delay: number): Outcome {
  const asked = propertyOf(thrown, 'delay');
  return { type: 'retried', delay: isDelay(asked) ? asked : delay, error: recordError(thrown), isFree: true };
}

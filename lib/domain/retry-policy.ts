/** When and how often a job is tried again after its handler threw. */
export interface RetryPolicy {
  /** Attempts in all, the first among them. @default 5 */
  readonly maxAttempts: number;
  /** Milliseconds before the second attempt. @default 1000 */
  readonly delay: number;
  /** Factor by which each further delay grows. @default 2 */
  readonly backoff: number;
  /** Milliseconds that no delay exceeds, before jitter. @default 300000 */
  readonly maxDelay: number;
  /** Share of the delay by which it varies either way, so that jobs that failed together don't return together. @default 0.1 */
  readonly jitter: number;
}

/**
 * Milliseconds until the next attempt.
 * @param attempt the attempt that failed, 1 for the first
 * @param dice a number from 0 (shortest) to 1 (longest)
 */
export function retryDelay(policy: RetryPolicy, attempt: number, dice: number): number {
  // Finite, as 0 * Infinity is no delay at all.
  const factor = Math.min(policy.backoff ** (attempt - 1), Number.MAX_VALUE);
  const delay = Math.min(policy.delay * factor, policy.maxDelay);
  return Math.round(delay * (1 + policy.jitter * (2 * dice - 1)));
}

import { type RetryPolicy, retryDelay } from '../../lib/domain/retry-policy.js';

const policy: RetryPolicy = { maxAttempts: 5, delay: 1_000, backoff: 2, maxDelay: 300_000, jitter: 0.1 };
const MIDDLE = 0.5;

describe('the delay before a retry', () => {
  it('grows by the factor of the policy with each attempt', () => {
    const delays = [1, 2, 3, 4].map((attempt) => retryDelay(policy, attempt, MIDDLE));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  it('stays the same with a backoff of 1', () => {
    expect(retryDelay({ ...policy, backoff: 1 }, 40, MIDDLE)).toBe(1_000);
  });

  it('ends at maxDelay, however many attempts there were', () => {
    expect(retryDelay(policy, 9, MIDDLE)).toBe(256_000);
    expect(retryDelay(policy, 10, MIDDLE)).toBe(300_000);
    expect(retryDelay(policy, 2_147_483_647, MIDDLE)).toBe(300_000);
  });

  it('varies by the share that jitter says, both ways', () => {
    expect(retryDelay(policy, 1, 0)).toBe(900);
    expect(retryDelay(policy, 1, 1)).toBe(1_100);
    expect(retryDelay(policy, 20, 1)).toBe(330_000);
    expect(retryDelay({ ...policy, jitter: 1 }, 1, 0)).toBe(0);
    expect(retryDelay({ ...policy, jitter: 0 }, 1, 0)).toBe(1_000);
  });

  it('is a whole number within its bounds for every roll of the dice', () => {
    for (let dice = 0; dice <= 1; dice += 1 / 128) {
      const delay = retryDelay({ ...policy, delay: 333.3 }, 3, dice);
      expect(Number.isInteger(delay)).toBe(true);
      expect(delay).toBeGreaterThanOrEqual(Math.floor(333.3 * 4 * 0.9));
      expect(delay).toBeLessThanOrEqual(Math.ceil(333.3 * 4 * 1.1));
    }
  });

  it('is none after any number of attempts when the policy wants none', () => {
    expect(retryDelay({ ...policy, delay: 0 }, 1, MIDDLE)).toBe(0);
    expect(retryDelay({ ...policy, delay: 0 }, 5_000, MIDDLE)).toBe(0);
    expect(retryDelay({ ...policy, maxDelay: 0 }, 5_000, MIDDLE)).toBe(0);
  });
});

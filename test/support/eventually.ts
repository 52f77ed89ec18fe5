import { setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL = 10;

/**
 * Runs `check` again and again until it neither throws nor returns `false`, and resolves with what it returned.
 * Only for what nothing but the database or the operating system shows; await an event wherever there is one.
 *
 * @throws what the last `check` threw, when `timeout` (5000 ms) is over
 */
export async function eventually<T>(check: () => T | Promise<T>, { timeout = 5_000 } = {}): Promise<Exclude<T, false>> {
  const deadline = Date.now() + timeout;
  for (;;) {
    try {
      return passed(await check());
    } catch (error) {
      if (Date.now() >= deadline) throw error;
    }
    await delay(POLL_INTERVAL);
  }
}

function passed<T>(result: T): Exclude<T, false> {
  if (result === false) throw new Error('It did not become true in time');
  return result as Exclude<T, false>;
}

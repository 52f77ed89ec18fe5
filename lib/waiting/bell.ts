import { setTimeout as delay } from 'node:timers/promises';

// A longer one fires at once.
const LONGEST_TIMER = 2 ** 31 - 1;

/** Wakes one waiter. A ring that nobody waits for is kept for the next one. */
export class Bell {
  private rung = false;
  private wake: (() => void) | undefined;

  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** Whether it was rung since the last call. */
  take(): boolean {
    const { rung } = this;
    this.rung = false;
    return rung;
  }

  /** Resolves at the next ring, after `ms`, or when the signal aborts. Doesn't take the ring. */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.rung || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.wake = undefined;
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER));
      signal.addEventListener('abort', end);
      this.wake = end;
    });
  }
}

/** Resolves after `ms` or when the signal aborts, whichever is first. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

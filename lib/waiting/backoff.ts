import { pause } from './bell.js';

const FIRST = 100;
const LONGEST = 5_000;

/** Growing pauses between the tries of something that fails, with jitter so that replicas don't return together. */
export class Backoff {
  private failures = 0;

  constructor(
    private readonly first: number = FIRST,
    private readonly longest: number = LONGEST,
  ) {}

  reset(): void {
    this.failures = 0;
  }

  /** The milliseconds of the next pause. */
  next(): number {
    return Math.min(this.first * 2 ** this.failures++, this.longest) * (0.5 + Math.random() / 2);
  }

  async pause(signal: AbortSignal): Promise<void> {
    await pause(this.next(), signal);
  }
}

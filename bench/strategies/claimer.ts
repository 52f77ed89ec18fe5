import { Bell } from '../bell.js';
import type { Strategy } from './strategy.js';

const BEATS_PER_LEASE = 3;
const POLLS_PER_LEASE = 10;

export interface ClaimerOptions {
  readonly batch: number;
  /** After so many silent milliseconds a claimer is taken for dead. */
  readonly lease: number;
  /** Whether its jobs never end. */
  readonly hold?: boolean;
}

/** How often claimers and coordinators look when nobody tells them to. */
export const pollOf = (lease: number) => lease / POLLS_PER_LEASE;

/** Claims a batch, runs its jobs, settles them, and claims again. In between it beats and looks for the dead. */
export class Claimer {
  readonly bell = new Bell();
  private beatAt = performance.now();
  private lookedAt = performance.now();

  constructor(
    private readonly strategy: Strategy,
    private readonly options: ClaimerOptions,
  ) {}

  async run(handle: () => void): Promise<void> {
    while (!this.bell.stopped) {
      await this.keepUp();
      await this.runBatch(handle);
    }
  }

  private async runBatch(handle: () => void): Promise<void> {
    const { rings } = this.bell;
    const jobs = await this.strategy.claim(this.options.batch);
    for (const _ of jobs) handle();
    if (jobs.length > 0 && this.options.hold) await this.hold();
    if (jobs.length > 0) await this.strategy.settle(jobs.map(({ id }) => id));
    else if (rings === this.bell.rings) await this.bell.nextWithin(pollOf(this.options.lease));
  }

  private async hold(): Promise<void> {
    while (!this.bell.stopped) {
      await this.bell.nextWithin(pollOf(this.options.lease));
      await this.keepUp();
    }
  }

  private async keepUp(): Promise<void> {
    const { lease } = this.options;
    const now = performance.now();
    if (now - this.beatAt >= lease / BEATS_PER_LEASE) {
      this.beatAt = now;
      await this.strategy.beat();
    }
    if (now - this.lookedAt >= pollOf(lease)) {
      this.lookedAt = now;
      await this.strategy.recover(lease);
    }
  }
}

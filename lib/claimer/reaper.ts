import { reapClaims } from '../sql/claims.js';
import { Backoff } from '../waiting/backoff.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';

// A beat holds the row for a moment. One that a user holds for longer is removed when it is stale.
const FIRST_PAUSE = 4;
const LONGEST_PAUSE = 100;
const TRIES = 10;

/** Removes the rows of ended claims that were locked when their last job was settled. */
export class Reaper {
  private readonly left = new Set<string>();
  private running: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    private readonly abandoned: AbortSignal,
  ) {}

  add(claimIds: readonly string[]): void {
    for (const claimId of claimIds) this.left.add(claimId);
    if (this.left.size > 0) this.running ??= this.run();
  }

  /** What is under way. */
  get busy(): Promise<void> | undefined {
    return this.running;
  }

  private async run(): Promise<void> {
    const patience = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
    let tries = 0;
    do {
      // First, so that this has a promise to be awaited by before it ends.
      await patience.pause(this.abandoned);
      await this.reap();
      tries += 1;
    } while (this.left.size > 0 && tries < TRIES && !this.abandoned.aborted);
    this.left.clear();
    this.running = undefined;
  }

  private async reap(): Promise<void> {
    if (this.abandoned.aborted) return;
    try {
      for (const claimId of await reapClaims(this.context.db, this.context.names, [...this.left]))
        this.left.delete(claimId);
    } catch (error) {
      reportError(this.context, 'settle', error);
    }
  }
}

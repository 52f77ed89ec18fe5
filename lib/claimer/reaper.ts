import { reapClaims } from '../sql/claims.js';
import { Backoff } from '../waiting/backoff.js';
import { Bell } from '../waiting/bell.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';

// The next settle takes them along, if there is one by then.
const WAIT = 1_000;
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 100;
// A beat holds the row for a moment. One that a user holds for longer is removed when it is stale.
const TRIES = 10;

/** Removes the rows of claims that have ended. */
export class Reaper {
  private readonly left = new Set<string>();
  private readonly hurry = new Bell();
  private running: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    private readonly abandoned: AbortSignal,
  ) {}

  /** Claims whose jobs are all settled, and that is committed. */
  get ended(): string[] {
    return [...this.left];
  }

  add(claimIds: readonly string[]): void {
    for (const claimId of claimIds) this.left.add(claimId);
    if (this.left.size > 0) this.running ??= this.run();
  }

  /** Somebody else has removed them. */
  removed(claimIds: readonly string[]): void {
    for (const claimId of claimIds) this.left.delete(claimId);
  }

  /** What is under way, without delay from now on. */
  get busy(): Promise<void> | undefined {
    if (this.running !== undefined) this.hurry.ring();
    return this.running;
  }

  private async run(): Promise<void> {
    await this.hurry.wait(WAIT, this.abandoned);
    this.hurry.take();
    const patience = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
    let asked: readonly string[] = [];
    for (let tries = 0; this.left.size > 0 && tries < TRIES && !this.abandoned.aborted; tries++) {
      if (tries > 0) await patience.pause(this.abandoned);
      asked = this.ended;
      await this.reap(asked);
    }
    if (this.abandoned.aborted) this.left.clear();
    else this.removed(asked);
    this.running = this.left.size > 0 ? this.run() : undefined; // those that came meanwhile
  }

  private async reap(claimIds: readonly string[]): Promise<void> {
    if (this.abandoned.aborted) return;
    try {
      this.removed(await reapClaims(this.context.db, this.context.names, claimIds));
    } catch (error) {
      reportError(this.context, 'settle', error);
    }
  }
}

/** Jobs that would wait for longer than this are left to other workers. */
const HORIZON = 30;
/** Jobs of one claim. Larger ones make PostgreSQL no faster. */
export const BATCH = 1_000;
/** One batch is run while the next is claimed. */
const MOST = 2 * BATCH;

const SHORTEST = 0.01;
const WEIGHT = 0.05;

/** How many jobs are claimed ahead of free slots: as many as handlers end in some milliseconds, and none where they are slow. */
export class Prefetch {
  /** Milliseconds that handlers take, the latest weighing most. */
  private average = Infinity;

  ended(duration: number): void {
    this.average = this.average === Infinity ? duration : this.average + (duration - this.average) * WEIGHT;
  }

  /** What was claimed ahead has waited for too long. */
  reset(): void {
    this.average = Infinity;
  }

  size(slots: number): number {
    if (this.average > HORIZON) return 0;
    return Math.min(Math.floor((slots * HORIZON) / Math.max(this.average, SHORTEST)), MOST);
  }
}

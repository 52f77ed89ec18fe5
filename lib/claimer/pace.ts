import type { ClaimedJob } from '../domain/job.js';
import type { ClaimRequest } from '../sql/claim.js';

// What rivals, or somebody's long transaction, hold locked at the head of the queue is looked past.
const NARROWEST_WINDOW = 2;
const WIDEST_WINDOW = 1_024;
const FEWEST_CANDIDATES = 80;
const MOST_CANDIDATES = 4_000;

// Many who claim large batches would all try the same rows: each leaves some of them to the others, by chance.
const WIDEST_SPREAD = 50_000;
const CLOSING = 0.75;

/** Where in the queue is claimed, beside rivals. */
export class Pace {
  /** How many jobs are looked at, for each that is wanted. */
  private window = NARROWEST_WINDOW;
  /** How many jobs at the head of the queue are, by chance, left to rivals. */
  private spread = 0;
  /** How much of what is claimed is of one entrypoint: where many have some, few of each are looked at. */
  private share = 1;

  /** What a claim of so many jobs looks at. */
  place(limit: number): Pick<ClaimRequest, 'candidates' | 'candidatesOfOne' | 'offset'> {
    const candidates = Math.max(Math.min(limit * this.window, MOST_CANDIDATES), FEWEST_CANDIDATES);
    const ofOne = Math.max(Math.ceil(limit * this.share * NARROWEST_WINDOW), FEWEST_CANDIDATES);
    const candidatesOfOne = this.share === 1 ? candidates : Math.min(ofOne, candidates);
    return { candidates, candidatesOfOne, offset: Math.floor(Math.random() * this.spread) };
  }

  /** A claim came short because of rivals. */
  crowded(limit: number): void {
    this.window = Math.min(this.window * 2, WIDEST_WINDOW);
    this.spread = Math.min(Math.max(this.spread * 2, limit), WIDEST_SPREAD);
  }

  /** A claim did not come short because of rivals. */
  won(jobs: readonly ClaimedJob[]): void {
    this.window = Math.max(this.window / 2, NARROWEST_WINDOW);
    this.spread = Math.floor(this.spread * CLOSING);
    const counts = new Map<string, number>();
    for (const { entrypoint } of jobs) counts.set(entrypoint, (counts.get(entrypoint) ?? 0) + 1);
    this.share = Math.max(...counts.values()) / jobs.length;
  }

  /** A claim came short, though not because of rivals. Returns whether it has left something out. */
  cameShort(): boolean {
    const hasLeftOut = this.spread > 0 || this.share < 1;
    this.window = Math.max(this.window / 2, NARROWEST_WINDOW);
    this.spread = 0;
    this.share = 1;
    return hasLeftOut;
  }
}

import { BATCH } from './prefetch.js';

// What rivals, or somebody's long transaction, hold locked at the head of the queue is looked past.
const NARROWEST_WINDOW = 2;
const WIDEST_WINDOW = 1_024;
const FEWEST_CANDIDATES = 80;
const MOST_CANDIDATES = 4_000;

// Many who claim large batches would all try the same rows: each leaves some of them to the others, by chance.
const WIDEST_SPREAD = 50_000;
const CLOSING = 0.75;

// Where a claim takes longer, in milliseconds of the server, others wait for the same processors or rows: smaller ones let them have
// their turn.
const LONG_CLAIM = 30;
const SMALLEST_BATCH = 200;
const GROWTH = 1.1;

/** How much is claimed at once, and where in the queue, beside rivals. */
export class Pace {
  /** How many jobs are looked at, for each that is wanted. */
  private window = NARROWEST_WINDOW;
  /** How many jobs at the head of the queue are, by chance, left to rivals. */
  private spread = 0;
  private batch = BATCH;

  limit(wanted: number): number {
    return Math.min(wanted, Math.floor(this.batch));
  }

  /** What a claim of so many jobs looks at. */
  place(limit: number): { readonly candidates: number; readonly offset: number } {
    const candidates = Math.max(Math.min(limit * this.window, MOST_CANDIDATES), FEWEST_CANDIDATES);
    return { candidates, offset: Math.floor(Math.random() * this.spread) };
  }

  /** A claim came short because of rivals. */
  crowded(limit: number): void {
    this.window = Math.min(this.window * 2, WIDEST_WINDOW);
    this.spread = Math.min(Math.max(this.spread * 2, limit), WIDEST_SPREAD);
  }

  /** A claim did not come short because of rivals. Returns whether it may have left something to them that is still there. */
  cleared(isShort: boolean): boolean {
    this.window = Math.max(this.window / 2, NARROWEST_WINDOW);
    const wasSpread = this.spread > 0;
    this.spread = isShort ? 0 : Math.floor(this.spread * CLOSING);
    return isShort && wasSpread;
  }

  took(ms: number): void {
    this.batch = ms > LONG_CLAIM ? Math.max(this.batch / 2, SMALLEST_BATCH) : Math.min(this.batch * GROWTH, BATCH);
  }
}

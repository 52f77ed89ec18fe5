import { beat, type BeatListener } from './heartbeat.js';
import type { ClaimBook } from './claim-book.js';
import type { Bell } from '../waiting/bell.js';
import { dissolve } from './maintenance.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';
import type { WorkerTask } from './worker-event.js';

/** Beats in a `heartbeatTimeout`, so that a slow one or two cost no claim. */
const BEATS_PER_TIMEOUT = 4;

/** Tries in an interval while the database can't be reached. */
const RETRIES = 4;

/** Polls without a look of somebody else after which this one looks, but at the most so many milliseconds. */
const LOOKS = 2;
const LONGEST_PATIENCE = 10_000;

export interface PulseListener extends BeatListener {
  readonly onFreed: () => void;
}

/**
 * Keeps this worker's claims alive and takes back those of the dead, at an interval, until it is stopped.
 * Beats first: a process whose event loop was blocked must not take its own jobs for abandoned. Nor those of all others, when
 * an outage of the database has kept them from beating.
 */
export class Pulse {
  private readonly stopped = new AbortController();
  private readonly interval: number;
  /** How long the others may need to beat again, once the database is back. */
  private readonly grace: number;
  private readonly patience: number;
  private reachableSince = -Infinity;
  private lookedAt = -Infinity;
  private isStale = false;
  private dissolving: Promise<void> | undefined;
  private loop: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    private readonly book: ClaimBook,
    private readonly listener: PulseListener,
    /** Rung when a beat may have something to tell. */
    private readonly hurry: Bell,
  ) {
    const { heartbeatTimeout, pollInterval } = context.options;
    this.grace = heartbeatTimeout / BEATS_PER_TIMEOUT;
    this.interval = Math.min(this.grace, pollInterval);
    this.patience = Math.min(LOOKS * pollInterval, LONGEST_PATIENCE);
  }

  start(): void {
    this.loop ??= this.run();
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await Promise.all([this.loop, this.dissolving]);
  }

  /** Somebody has looked, and has seen claims that are no longer beaten, or not. */
  looked(stale: boolean): void {
    this.lookedAt = performance.now();
    if (!stale || this.isStale) return;
    this.isStale = true;
    this.hurry.ring();
  }

  private async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      // Beside the beats, which must not wait for one that gets no answer.
      if (await this.isReachable()) this.dissolving ??= this.dissolve().finally(() => (this.dissolving = undefined));
      await this.rest(signal);
    }
  }

  private async rest(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    const longest = this.reachableSince === Infinity ? this.interval / RETRIES : this.interval;
    await this.hurry.wait(longest, signal);
    this.hurry.take();
    // An event loop that stood still is like an outage: what it has claimed meanwhile it may not know of yet.
    const now = performance.now();
    if (now - startedAt > longest + this.grace) this.reachableSince = Math.max(this.reachableSince, now);
  }

  /** For long enough that all others can have beaten. */
  private async isReachable(): Promise<boolean> {
    if (!this.book.isEmpty || this.reachableSince === Infinity) {
      const isAlive = await this.attempt('beat', () => beat(this.context, this.book, this.listener));
      this.reachableSince = isAlive ? Math.min(this.reachableSince, performance.now()) : Infinity;
    }
    return performance.now() - this.reachableSince >= this.grace;
  }

  /** When there is something to dissolve, or nobody has looked. */
  private async dissolve(): Promise<void> {
    if (!this.isStale && performance.now() - this.lookedAt < this.patience) return;
    this.isStale = false;
    const startedAt = performance.now();
    // Its own are excepted, for it may have been late to beat. Which they are is asked when there is a connection.
    const isDone = await this.attempt('dissolve', () =>
      this.context.db.transaction(async (db) => {
        if (performance.now() - startedAt > this.grace) return;
        await dissolve({ ...this.context, db }, this.listener.onFreed, this.book.claimIds());
      }),
    );
    if (!isDone) this.reachableSince = Infinity;
  }

  private async attempt(task: WorkerTask, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!this.stopped.signal.aborted) reportError(this.context, task, error);
      return false;
    }
  }
}

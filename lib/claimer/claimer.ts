import { randomUUID } from 'node:crypto';
import { claimAlone, claimJobs, type ClaimRequest } from '../sql/claim.js';
import { promoteJobs, readOutlook } from '../sql/promote.js';
import { Backoff } from './backoff.js';
import type { Bell } from './bell.js';
import type { ClaimBook } from './claim-book.js';
import type { Dispatcher } from './dispatcher.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';

// Rivals commit within milliseconds.
const CROWDED_FIRST = 4;
const CROWDED_LONGEST = 100;

// A later job that is due, but was not let in, is locked.
const LOCKED_LATER = 50;

// How long claiming stands still for a job that is to run alone, and how long such a job waits for it.
const LONGEST_PATIENCE = 5_000;

// What rivals, or somebody's long transaction, hold locked at the head of the queue is looked past.
const NARROWEST_WINDOW = 8;
const WIDEST_WINDOW = 1_024;

/** `short` and `nothing`: the last job that was due is claimed. */
type Turn = 'again' | 'short' | 'nothing';

/** Wins jobs for the free slots of its dispatcher. */
export class Claimer {
  private readonly stopped = new AbortController();
  private readonly failing = new Backoff();
  private readonly crowded = new Backoff(CROWDED_FIRST, CROWDED_LONGEST);
  private readonly entrypoints: ClaimRequest['entrypoints'];
  private window = NARROWEST_WINDOW;
  /** By this process's monotonic clock. */
  private nextLook = 0;
  /** Until when nothing else is claimed than jobs that are to run alone. */
  private aloneUntil = 0;
  private loop: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    private readonly book: ClaimBook,
    private readonly dispatcher: Dispatcher,
    /** Rung when the queue may have changed. */
    private readonly wakeUp: Bell,
  ) {
    this.entrypoints = [...context.handlers.values()].map(({ entrypoint, retry }) => ({
      name: entrypoint,
      maxAttempts: retry.maxAttempts,
    }));
  }

  start(): void {
    this.loop ??= this.run();
  }

  /** Claims until nothing is due and nothing runs. Rejects when it can't claim. */
  drain(settled: () => Promise<void>): Promise<void> {
    const drained = this.runDry(settled);
    this.loop = drained.catch(() => undefined);
    return drained;
  }

  /** Resolves when no claim is under way any more. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.loop;
  }

  private async runDry(settled: () => Promise<void>): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      const { isIdle } = this.dispatcher;
      // What has ended may be due again, once that is written.
      if (isIdle) await settled();
      this.wakeUp.ring();
      const turn = await this.claimOnce(signal);
      if (turn === 'nothing' && isIdle) return;
      if (turn !== 'again') await this.waitForSlot(this.context.options.pollInterval, signal);
    }
  }

  private async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      try {
        await this.turn(signal);
        this.failing.reset();
      } catch (error) {
        reportError(this.context, 'claim', error);
        await this.failing.pause(signal);
      }
    }
  }

  private async turn(signal: AbortSignal): Promise<void> {
    const turn = await this.claimOnce(signal);
    // A slot that becomes free is no reason to claim again: the last claim has seen the last job that was due.
    if (turn !== 'again') await this.wakeUp.wait(this.nextLook - performance.now(), signal);
  }

  /** Waits when it can't claim yet. */
  private async claimOnce(signal: AbortSignal): Promise<Turn> {
    if (this.dispatcher.free <= 0) return this.waitForSlot(this.context.options.pollInterval, signal);
    if (this.wakeUp.take() || performance.now() >= this.nextLook) await this.look();
    if (performance.now() < this.aloneUntil) return this.claimAlone(signal);
    const limit = this.dispatcher.free;
    const { count, crowded } = await this.claim(limit);
    if (crowded) return this.makeWay(signal);
    this.window = Math.max(this.window / 2, NARROWEST_WINDOW);
    this.crowded.reset();
    if (count === limit) return 'again';
    return count === 0 ? 'nothing' : 'short';
  }

  /** A job whose worker has died may have killed it. It runs with nothing beside it, and nothing is claimed until it ended. */
  private async claimAlone(signal: AbortSignal): Promise<'again'> {
    if (!this.dispatcher.isIdle) return this.waitForSlot(this.aloneUntil - performance.now(), signal);
    const { count } = await this.claim(1, claimAlone);
    if (count === 0) this.aloneUntil = 0;
    return 'again';
  }

  private async makeWay(signal: AbortSignal): Promise<'again'> {
    this.window = Math.min(this.window * 2, WIDEST_WINDOW);
    await this.crowded.pause(signal);
    return 'again';
  }

  private async waitForSlot(longest: number, signal: AbortSignal): Promise<'again'> {
    await this.dispatcher.freed.wait(longest, signal);
    this.dispatcher.freed.take();
    return 'again';
  }

  /** Lets in the jobs whose time has come, and learns when the next one is due and whether some are to run alone. */
  private async look(): Promise<void> {
    const { db, names, options } = this.context;
    const patience = Math.min(options.pollInterval, LONGEST_PATIENCE);
    await promoteJobs(db, names, { patience, notify: options.notify });
    const { next, alone } = await readOutlook(
      db,
      names,
      this.entrypoints.map(({ name }) => name),
    );
    this.nextLook =
      performance.now() + Math.min(next === 0 ? LOCKED_LATER : (next ?? options.pollInterval), options.pollInterval);
    const now = performance.now();
    if (alone && now >= this.aloneUntil) this.aloneUntil = now + patience;
  }

  private async claim(limit: number, from = claimJobs): Promise<{ count: number; crowded: boolean }> {
    const { db, names, label } = this.context;
    const claimId = randomUUID();
    const { entrypoints, window } = this;
    const { jobs, crowded } = await from(db, names, { claimId, worker: label, limit, window, entrypoints });
    if (jobs.length > 0) {
      this.book.open(
        claimId,
        jobs.map(({ id }) => id),
      );
      this.context.observe({ type: 'claimed', jobs });
      if (this.stopped.signal.aborted) this.dispatcher.release(jobs);
      else this.dispatcher.run(jobs);
    }
    return { count: jobs.length, crowded };
  }
}

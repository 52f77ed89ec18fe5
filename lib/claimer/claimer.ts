import { randomUUID } from 'node:crypto';
import { claimJobs, type ClaimRequest } from '../sql/claim.js';
import { nextJobIn, promoteJobs } from '../sql/promote.js';
import { Backoff } from './backoff.js';
import type { Bell } from './bell.js';
import type { ClaimBook } from './claim-book.js';
import type { Dispatcher } from './dispatcher.js';
import type { WorkerContext } from './worker-context.js';

// Rivals commit within milliseconds.
const CROWDED_FIRST = 4;
const CROWDED_LONGEST = 100;

// A later job that is due, but was not let in, is locked.
const LOCKED_LATER = 50;

// What rivals, or somebody's long transaction, hold locked at the head of the queue is looked past.
const NARROWEST_WINDOW = 8;
const WIDEST_WINDOW = 1_024;

/** Wins jobs for the free slots of its dispatcher. */
export class Claimer {
  private readonly stopped = new AbortController();
  private readonly failing = new Backoff();
  private readonly crowded = new Backoff(CROWDED_FIRST, CROWDED_LONGEST);
  private readonly entrypoints: ClaimRequest['entrypoints'];
  private window = NARROWEST_WINDOW;
  /** By this process's monotonic clock. */
  private nextLook = 0;
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

  /** Resolves when no claim is under way any more. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      try {
        await this.turn(signal);
        this.failing.reset();
      } catch (error) {
        this.context.observe({ type: 'error', task: 'claim', error });
        await this.failing.pause(signal);
      }
    }
  }

  private async turn(signal: AbortSignal): Promise<void> {
    if (this.dispatcher.free <= 0) return this.waitForSlot(signal);
    if (this.wakeUp.take() || performance.now() >= this.nextLook) await this.look();
    const limit = this.dispatcher.free;
    const { count, crowded } = await this.claim(limit);
    if (crowded) return this.makeWay(signal);
    this.window = Math.max(this.window / 2, NARROWEST_WINDOW);
    this.crowded.reset();
    if (count === limit) return;
    // It came short, so it has seen the last job that was due: a slot that becomes free is no reason to claim again.
    await this.wakeUp.wait(this.nextLook - performance.now(), signal);
  }

  private async makeWay(signal: AbortSignal): Promise<void> {
    this.window = Math.min(this.window * 2, WIDEST_WINDOW);
    await this.crowded.pause(signal);
  }

  private async waitForSlot(signal: AbortSignal): Promise<void> {
    await this.dispatcher.freed.wait(this.context.options.pollInterval, signal);
    this.dispatcher.freed.take();
  }

  /** Lets in the jobs whose time has come, and learns when the next one is due. */
  private async look(): Promise<void> {
    const { db, names, options } = this.context;
    await promoteJobs(db, names, options.notify);
    const next = (await nextJobIn(db, names)) ?? options.pollInterval;
    this.nextLook = performance.now() + Math.min(next || LOCKED_LATER, options.pollInterval);
  }

  private async claim(limit: number): Promise<{ count: number; crowded: boolean }> {
    const { db, names, label } = this.context;
    const claimId = randomUUID();
    const { entrypoints, window } = this;
    const { jobs, crowded } = await claimJobs(db, names, { claimId, worker: label, limit, window, entrypoints });
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

import { UnknownJobError } from '../domain/errors.js';
import { awaitJobs, type AwaitedJob, type JobEnd } from '../sql/completion.js';
import type { Database } from '../sql/database.js';
import type { Listen } from '../sql/listen.js';
import type { Names } from '../sql/names.js';
import { isTransient } from '../sql/transient.js';
import { Backoff } from '../waiting/backoff.js';
import { Bell } from '../waiting/bell.js';
import { Subscription } from '../waiting/subscription.js';
import { within } from '../waiting/within.js';

export interface EndWatchContext {
  readonly db: Database;
  readonly names: Names;
  /** `undefined`: without notifications. */
  readonly listen: Listen | undefined;
  /** Hears of what failed and is tried again. */
  readonly onTrouble: (task: 'listen' | 'look for ends of jobs', error: unknown) => void;
}

/** Settled once: what comes later is ignored, as promises do. */
export interface Waiter {
  resolve(end: JobEnd): void;
  reject(error: unknown): void;
}

interface Watched {
  readonly id: string;
  readonly waiters: Set<Waiter>;
  /** Milliseconds between the next two looks. */
  interval: number;
  /** By this process's monotonic clock. */
  nextLook: number;
}

const SOONEST = 50;
/** Where nothing tells of an end. */
const LONGEST = 800;
/** Where something does, for what it can't tell: a row that was deleted by hand, a connection that is dead. */
const SAFETY = 3_200;

const QUERY_TIMEOUT = 5_000;
// Each may bring a result with it.
const BATCH = 1_000;
const STOP_GRACE = 500;

/** Looks for the ends of all jobs that somebody waits for: one statement at a time, for all that are due. */
export class EndWatch {
  private readonly watched = new Map<string, Watched>();
  private readonly wakeUp = new Bell();
  private readonly stopped = new AbortController();
  private readonly failing = new Backoff(SOONEST, LONGEST);
  private readonly subscription: Subscription | undefined;
  private isListening = false;
  private loop: Promise<void> | undefined;

  constructor(private readonly context: EndWatchContext) {
    const { listen, names } = context;
    this.subscription =
      listen &&
      new Subscription(listen, names.endChannel, {
        onNotification: (id) => this.lookAt(this.watched.get(id)),
        onListening: () => this.heed(true),
        onFailure: (error) => {
          this.heed(false);
          context.onTrouble('listen', error);
        },
      });
  }

  add(id: string, waiter: Waiter): void {
    const watched = this.watched.get(id) ?? { id, waiters: new Set(), interval: SOONEST, nextLook: 0 };
    this.watched.set(id, watched);
    watched.waiters.add(waiter);
    this.lookAt(watched);
    this.subscription?.start();
    this.loop ??= this.run();
  }

  remove(id: string, waiter: Waiter): void {
    const watched = this.watched.get(id);
    watched?.waiters.delete(waiter);
    if (watched?.waiters.size !== 0) return;
    this.watched.delete(id);
    if (this.watched.size === 0) this.wakeUp.ring();
  }

  /** Looks once more, and rejects all that still wait. Resolves when nothing of it is left, or a database that doesn't answer has had its time. */
  async stop(reason: Error): Promise<void> {
    // The worker of this process has just drained, and its notifications may be under way.
    const last = [...this.watched.values()].slice(0, BATCH);
    if (last.length > 0) await within(STOP_GRACE, this.look(last));
    this.stopped.abort();
    for (const { id, waiters } of this.watched.values()) this.release(id, waiters, (waiter) => waiter.reject(reason));
    await Promise.all([this.subscription?.stop(), within(STOP_GRACE, Promise.resolve(this.loop))]);
  }

  private heed(isListening: boolean): void {
    this.isListening = isListening;
    for (const watched of this.watched.values()) this.lookAt(watched);
  }

  private lookAt(watched: Watched | undefined): void {
    if (watched === undefined) return;
    watched.nextLook = 0;
    watched.interval = SOONEST;
    this.wakeUp.ring();
  }

  /** Runs while there is anything to wait for. */
  private async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted && this.watched.size > 0) {
      this.wakeUp.take();
      const now = performance.now();
      const due = [...this.watched.values()].filter(({ nextLook }) => nextLook <= now);
      if (due.length > 0) await this.look(due.slice(0, BATCH));
      else await this.wakeUp.wait(this.nextLook() - now, signal);
    }
    this.loop = undefined;
  }

  private nextLook(): number {
    let next = Infinity;
    for (const { nextLook } of this.watched.values()) next = Math.min(next, nextLook);
    return next;
  }

  private async look(due: readonly Watched[]): Promise<void> {
    const { db, names } = this.context;
    // Who comes while the answer is under way may know of something that this snapshot doesn't.
    const asking = new Map(due.map((watched) => [watched.id, { watched, waiters: [...watched.waiters] }]));
    for (const watched of due) watched.nextLook = Infinity;
    try {
      const limits = { notify: this.subscription !== undefined, timeout: QUERY_TIMEOUT };
      const jobs = await awaitJobs(db, names, [...asking.keys()], limits);
      this.failing.reset();
      for (const job of jobs) {
        const asked = asking.get(job.id);
        if (asked !== undefined) this.answer(asked, job);
      }
    } catch (error) {
      await this.recover(asking.values(), error);
    }
  }

  private answer({ watched, waiters }: Asked, job: AwaitedJob): void {
    if (job.state === 'live') return this.schedule(watched, job.tells && this.isListening);
    this.release(job.id, waiters, (waiter) => {
      if (job.state === 'ended') waiter.resolve(job.end);
      else waiter.reject(new UnknownJobError(job.id));
    });
  }

  private release(id: string, waiters: Iterable<Waiter>, settle: (waiter: Waiter) => void): void {
    for (const waiter of waiters) {
      this.remove(id, waiter);
      settle(waiter);
    }
  }

  // At multiples of the interval, so that those who came one by one are looked at together.
  private schedule(watched: Watched, isTold: boolean): void {
    const interval = isTold ? SAFETY : watched.interval;
    watched.interval = Math.min(watched.interval * 2, LONGEST);
    const next = (Math.floor(performance.now() / interval) + 1) * interval;
    watched.nextLook = Math.min(watched.nextLook, next); // a notification may have come meanwhile
  }

  private async recover(asking: Iterable<Asked>, error: unknown): Promise<void> {
    const { signal } = this.stopped;
    if (!isTransient(error)) {
      for (const { watched, waiters } of asking) this.release(watched.id, waiters, (waiter) => waiter.reject(error));
    } else if (!signal.aborted) {
      this.context.onTrouble('look for ends of jobs', error);
      for (const { watched } of asking) watched.nextLook = 0;
      await this.failing.pause(signal);
    }
  }
}

interface Asked {
  readonly watched: Watched;
  readonly waiters: readonly Waiter[];
}

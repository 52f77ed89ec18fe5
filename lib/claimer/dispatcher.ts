import { ClaimLost, JobCanceled, JobTimeout, WorkerShutdown } from '../domain/errors.js';
import { parseJob, type ClaimedJob } from '../domain/job.js';
import { judge } from '../domain/judge.js';
import { recordError, recordResult, type Outcome } from '../domain/outcome.js';
import type { Bell } from '../waiting/bell.js';
import { BATCH, Prefetch } from './prefetch.js';
import { type Complete, Run } from './run.js';
import type { Settler } from './settler.js';
import type { Handler, WorkerContext } from './worker-context.js';

// A handler that heeds its signal gets this long to end.
const ABORT_GRACE = 250;

// A few batches, where PostgreSQL keeps up.
const MOST_UNWRITTEN = 2_000;

/** How often what waits for a slot is looked at, in milliseconds. */
const PATIENCE = 250;
/** What would wait for so many times as long is left to other workers. */
const LONGEST_WAIT = 4;
/** Of the time. Who gets less of a processor has to share it. */
const OWN_PROCESSOR = 0.5;

interface JobClaim {
  readonly id: string;
  readonly claimId: string;
}

/** For so long jobs are started, one after the other, before beats, answers and the application's requests have their turn. */
const TURN = 20;

/** Runs handlers and turns what comes back into outcomes. */
export class Dispatcher {
  private readonly running = new Set<Run>();
  /** Claimed ahead, in the order in which they will start. */
  private waiting: Run[] = [];
  private patience: NodeJS.Timeout | undefined;
  /** Since the last look at what waits. */
  private started = 0;
  private cpu = process.cpuUsage();
  private readonly prefetch = new Prefetch();
  private lastEndedAt = -Infinity;
  private lastTook = 0;
  /** The next turn of the event loop in which jobs are started, if some are to be. */
  private turn: NodeJS.Immediate | undefined;
  private turnEnds = 0;

  constructor(
    private readonly context: WorkerContext,
    private readonly settler: Settler,
    /** Rung when jobs are wanted. */
    readonly freed: Bell,
  ) {}

  /** How many jobs to claim. None while outcomes pile up: each of them would be run again after a crash. */
  get wanted(): number {
    if (this.settler.backlog >= MOST_UNWRITTEN) return 0;
    const { concurrency } = this.context.options;
    const free = concurrency - this.running.size - this.waiting.length;
    const ahead = this.prefetch.size(concurrency);
    const wanted = Math.min(free + ahead, BATCH);
    // In large steps.
    return free > 0 || wanted >= Math.min(ahead, BATCH) / 2 ? Math.max(wanted, 0) : 0;
  }

  get isIdle(): boolean {
    return this.running.size === 0 && this.waiting.length === 0;
  }

  /** Whether nothing has run for as long as the last job did. */
  get hasRested(): boolean {
    return performance.now() - this.lastEndedAt >= this.lastTook;
  }

  /** Milliseconds until all that runs has done so for its probation. */
  quietIn(probationOf: (losses: number) => number): number {
    if (this.waiting.length > 0) return probationOf(0);
    const ends = [...this.running].map(({ startedAt, job }) => startedAt + probationOf(job.losses));
    return Math.max(...ends, performance.now()) - performance.now();
  }

  /** Resolves when what has ended is written. */
  settled(): Promise<void> {
    return this.settler.flush();
  }

  /** @param soon after what goes on has been done, such as sending the next claim */
  run(jobs: readonly ClaimedJob[], soon = false): void {
    for (const job of jobs) this.waiting.push(new Run(job, this.complete));
    if (!soon) this.turnEnds = performance.now() + TURN;
    if (soon) this.startSoon();
    else this.startNext();
    if (this.waiting.length > 0 && this.patience === undefined) this.bePatient();
  }

  /** Gives back jobs that have not begun. */
  release(jobs: readonly ClaimedJob[]): void {
    for (const { id, claimId } of jobs) this.settler.add({ id, claimId, outcome: RELEASED, duration: 0 });
  }

  /** Tells a handler. How it ends is up to it. */
  cancel({ id, claimId }: JobClaim): void {
    const reason = new JobCanceled(id);
    for (const run of this.running) if (run.job.id === id && run.job.claimId === claimId) run.abort(reason);
    const canceled = this.takeWaiting((job) => job.id === id && job.claimId === claimId);
    const outcome: Outcome = { type: 'canceled', error: recordError(reason) };
    for (const _ of canceled) this.settler.add({ id, claimId, outcome, duration: 0 });
  }

  /** Tells the handlers of a lost claim. What they return is refused by the fence, not here. */
  abortClaim(claimId: string): void {
    this.takeWaiting((job) => job.claimId === claimId);
    for (const run of this.running) if (run.job.claimId === claimId) run.abort(new ClaimLost(claimId));
  }

  /** Lets handlers end within `timeout`, then aborts them and gives their jobs back, as what has not begun at once. */
  async drain(timeout: number): Promise<void> {
    this.release(this.takeWaiting(() => true));
    await this.idle(timeout);
    if (this.running.size === 0) return;
    this.context.observe({ type: 'aborted', jobs: [...this.running].map(({ job }) => job) });
    for (const run of this.running) run.abort(new WorkerShutdown());
    await this.idle(ABORT_GRACE);
    for (const run of this.running) this.finish(run, RELEASED);
  }

  private async idle(timeout: number): Promise<void> {
    const expired = AbortSignal.timeout(timeout);
    while (this.running.size > 0 && !expired.aborted) {
      await this.freed.wait(timeout, expired);
      this.freed.take();
    }
  }

  private startNext(): void {
    if (this.waiting.length === 0) return;
    if (performance.now() >= this.turnEnds) return this.startSoon();
    for (let { size } = this.running; size < this.context.options.concurrency; { size } = this.running) {
      const run = this.waiting.shift();
      if (run === undefined) return;
      this.start(run);
    }
  }

  private startSoon(): void {
    this.turn ??= setImmediate(() => {
      this.turn = undefined;
      this.turnEnds = performance.now() + TURN;
      this.startNext();
    });
  }

  private start(run: Run): void {
    const handler = this.context.handlers.get(run.job.entrypoint);
    if (handler === undefined) return this.release([run.job]);
    this.running.add(run);
    this.started++;
    run.startedAt = performance.now();
    const timer = this.limit(run, handler);
    const end = (outcome: Outcome) => {
      clearTimeout(timer);
      this.lastEndedAt = performance.now();
      this.lastTook = this.lastEndedAt - run.startedAt;
      this.prefetch.ended(this.lastTook);
      this.finish(run, outcome);
    };
    // An async function would cost as much again as all of this. As its `await`, this calls no `then` that a promise has of its own.
    void Promise.prototype.then.call(
      call(handler, run),
      (result) => end(toSuccess(result)),
      (error: unknown) => end(judgeRun(run, handler, error)),
    );
  }

  private bePatient(): void {
    this.started = 0;
    this.cpu = process.cpuUsage();
    this.patience = setTimeout(() => this.lookAtWaiting(), PATIENCE).unref();
  }

  private lookAtWaiting(): void {
    this.patience = undefined;
    if (this.waiting.length === 0) return;
    if (this.started * LONGEST_WAIT >= this.waiting.length || this.isStarved) return this.bePatient();
    this.prefetch.reset();
    this.release(this.takeWaiting(() => true));
  }

  /** It is for want of a processor that jobs wait, and not because of their handlers. Whoever else claimed them had none, either. */
  private get isStarved(): boolean {
    const { concurrency } = this.context.options;
    const { user, system } = process.cpuUsage(this.cpu);
    const areQuick = this.running.size < concurrency && this.prefetch.size(concurrency) > 0;
    return areQuick && (user + system) / 1_000 < PATIENCE * OWN_PROCESSOR;
  }

  private takeWaiting(wanted: (job: ClaimedJob) => boolean): ClaimedJob[] {
    const taken = this.waiting.filter(({ job }) => wanted(job));
    if (taken.length > 0) this.waiting = this.waiting.filter(({ job }) => !wanted(job));
    return taken.map(({ job }) => job);
  }

  private readonly complete: Complete = async (run, db, result) => {
    if (!this.running.has(run)) throw new ClaimLost(run.claimId);
    await this.settler.settleWithin(db, run.settlement(toSuccess(result)), run.signal);
  };

  /** Ends the attempt when its handler takes too long, whatever that goes on to do. */
  private limit(run: Run, handler: Handler): NodeJS.Timeout | undefined {
    if (handler.timeout === undefined) return undefined;
    const timeout = new JobTimeout(handler.timeout);
    return setTimeout(() => {
      run.abort(timeout);
      this.finish(run, judgeRun(run, handler, timeout));
    }, handler.timeout);
  }

  private finish(run: Run, outcome: Outcome): void {
    if (!this.running.delete(run)) return; // it ended after its job was given back
    this.settler.add(run.settlement(outcome));
    this.context.observe({ type: 'ended', job: run.job, outcome, isCompleted: run.isCompleted });
    this.startNext();
    if (this.running.size === 0 || this.wanted > 0) this.freed.ring();
  }
}

function call(handler: Handler, run: Run): Promise<unknown> {
  try {
    return Promise.resolve(handler.run(parseJob(run.job), run));
  } catch (error) {
    return Promise.resolve().then(() => {
      throw error;
    });
  }
}

const RELEASED: Outcome = { type: 'released' };
const SUCCESS: Outcome = { type: 'successful' };

function toSuccess(result: unknown): Outcome {
  if (result === undefined) return SUCCESS;
  return { type: 'successful', result: recordResult(result) };
}

function judgeRun({ job, reason }: Run, { retry }: Handler, thrown: unknown): Outcome {
  return judge({ job, thrown, reason, retry, dice: Math.random() });
}

import { ClaimLost, JobCanceled, JobTimeout, WorkerShutdown } from '../domain/errors.js';
import { parseJob, type ClaimedJob } from '../domain/job.js';
import { judge } from '../domain/judge.js';
import { recordResult, type Outcome } from '../domain/outcome.js';
import type { Bell } from '../waiting/bell.js';
import type { Settler } from './settler.js';
import type { Settlement } from '../sql/settle.js';
import type { Handler, JobControl, WorkerContext } from './worker-context.js';

interface Run {
  readonly job: ClaimedJob;
  readonly startedAt: number;
  readonly controller: AbortController;
  /** Its success was written in a transaction of the handler. */
  isCompleted: boolean;
}

// A handler that heeds its signal gets this long to end.
const ABORT_GRACE = 250;

// A few batches, where PostgreSQL keeps up.
const MOST_UNWRITTEN = 2_000;

/** Runs handlers and turns what comes back into outcomes. */
export class Dispatcher {
  private readonly running = new Set<Run>();

  constructor(
    private readonly context: WorkerContext,
    private readonly settler: Settler,
    /** Rung when a slot becomes free. */
    readonly freed: Bell,
  ) {}

  /** None while outcomes pile up: each of them would be run again after a crash. */
  get free(): number {
    if (this.settler.backlog >= MOST_UNWRITTEN) return 0;
    return this.context.options.concurrency - this.running.size;
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  /** Milliseconds until all that runs has done so for its probation. */
  quietIn(probationOf: (losses: number) => number): number {
    const ends = [...this.running].map(({ startedAt, job }) => startedAt + probationOf(job.losses));
    return Math.max(...ends, performance.now()) - performance.now();
  }

  /** Resolves when what has ended is written. */
  settled(): Promise<void> {
    return this.settler.flush();
  }

  run(jobs: readonly ClaimedJob[]): void {
    for (const job of jobs) {
      const run = { job, startedAt: performance.now(), controller: new AbortController(), isCompleted: false };
      this.running.add(run);
      const timer = this.limit(run);
      void this.attempt(run).then((outcome) => {
        clearTimeout(timer);
        this.finish(run, outcome);
      });
    }
  }

  /** Gives back jobs that have not begun. */
  release(jobs: readonly ClaimedJob[]): void {
    for (const { id, claimId } of jobs) this.settler.add({ id, claimId, outcome: { type: 'released' }, duration: 0 });
  }

  /** Tells a handler. How it ends is up to it. */
  cancel({ id, claimId }: { readonly id: string; readonly claimId: string }): void {
    for (const run of this.running) {
      if (run.job.id === id && run.job.claimId === claimId) run.controller.abort(new JobCanceled(id));
    }
  }

  /** Tells the handlers of a lost claim. What they return is refused by the fence, not here. */
  abortClaim(claimId: string): void {
    for (const run of this.running) if (run.job.claimId === claimId) run.controller.abort(new ClaimLost(claimId));
  }

  /** Lets handlers end within `timeout`, then aborts them and gives their jobs back. */
  async drain(timeout: number): Promise<void> {
    await this.idle(timeout);
    if (this.running.size === 0) return;
    this.context.observe({ type: 'aborted', jobs: [...this.running].map(({ job }) => job) });
    for (const { controller } of this.running) controller.abort(new WorkerShutdown());
    await this.idle(ABORT_GRACE);
    for (const run of this.running) this.finish(run, { type: 'released' });
  }

  private async idle(timeout: number): Promise<void> {
    const expired = AbortSignal.timeout(timeout);
    while (this.running.size > 0 && !expired.aborted) {
      await this.freed.wait(timeout, expired);
      this.freed.take();
    }
  }

  private async attempt(run: Run): Promise<Outcome> {
    const { job } = run;
    const handler = this.context.handlers.get(job.entrypoint);
    if (handler === undefined) return { type: 'released' };
    try {
      return toSuccess(await handler.run(parseJob(job), this.controlOf(run)));
    } catch (error) {
      return judgeRun(run, handler, error);
    }
  }

  private controlOf(run: Run): JobControl {
    const { claimId } = run.job;
    const { signal } = run.controller;
    return {
      signal,
      claimId,
      get isCompleted() {
        return run.isCompleted;
      },
      complete: async (db, result) => {
        if (!this.running.has(run)) throw new ClaimLost(claimId);
        await this.settler.settleWithin(db, settlementOf(run, toSuccess(result)), signal);
        run.isCompleted = true;
      },
    };
  }

  /** Ends the attempt when its handler takes too long, whatever that goes on to do. */
  private limit(run: Run): NodeJS.Timeout | undefined {
    const handler = this.context.handlers.get(run.job.entrypoint);
    if (handler?.timeout === undefined) return undefined;
    const timeout = new JobTimeout(handler.timeout);
    return setTimeout(() => {
      run.controller.abort(timeout);
      this.finish(run, judgeRun(run, handler, timeout));
    }, handler.timeout);
  }

  private finish(run: Run, outcome: Outcome): void {
    if (!this.running.delete(run)) return; // it ended after its job was given back
    this.settler.add(settlementOf(run, outcome));
    this.context.observe({ type: 'ended', job: run.job, outcome });
    this.freed.ring();
  }
}

function toSuccess(result: unknown): Outcome {
  return { type: 'successful', result: recordResult(result) };
}

function settlementOf({ job: { id, claimId }, startedAt, isCompleted }: Run, outcome: Outcome): Settlement {
  return { id, claimId, outcome, duration: performance.now() - startedAt, isCompleted };
}

function judgeRun({ job, controller }: Run, { retry }: Handler, thrown: unknown): Outcome {
  return judge({ job, thrown, reason: controller.signal.reason as unknown, retry, dice: Math.random() });
}

import { setImmediate } from 'node:timers/promises';
import { ClaimLost } from '../domain/errors.js';
import { type Outcome, plainOutcome, type RecordedOutcome } from '../domain/outcome.js';
import type { Database } from '../sql/database.js';
import { isSettledBy, settleJobs, type SettleContext, type SettledJob, type Settlement } from '../sql/settle.js';
import { isRefusal } from '../sql/transient.js';
import { Backoff } from '../waiting/backoff.js';
import { pause } from '../waiting/bell.js';
import type { Turns } from '../waiting/turns.js';
import type { ClaimBook } from './claim-book.js';
import { Reaper } from './reaper.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';

const BATCH = 1_000;
// A statement of a gigabyte takes longer than anybody waits for its answer.
const BATCH_BYTES = 8 * 1024 * 1024;

// A trigger, or a constraint, of somebody who has to change it.
const REFUSED_PAUSE = 5_000;

// A job that is locked is mostly being dissolved, or looked at by an operator.
const LOCKED_FIRST = 4;
const LOCKED_LONGEST = 100;
// So long after one was, nobody waits for another.
const LOCKED_MEMORY = 10_000;

export interface SettlerListener {
  readonly onRequeued: () => void;
  readonly onWritten: () => void;
}

/** Writes outcomes in batches: while one write is under way the next batch gathers, and no timer delays a lone job. */
export class Settler {
  private waiting: Settlement[] = [];
  private writing: Promise<void> | undefined;
  private readonly locked: Settlement[] = [];
  private unlocking: Promise<void> | undefined;
  private quickFrom = 0;
  private readonly refused: Settlement[] = [];
  private retrying: Promise<void> | undefined;
  private readonly patience = new Backoff(LOCKED_FIRST, LOCKED_LONGEST);
  private readonly abandoned = new AbortController();
  private readonly reaper: Reaper;
  private readonly turns: Turns;

  constructor(
    private readonly context: WorkerContext,
    private readonly book: ClaimBook,
    private readonly listener: SettlerListener,
  ) {
    this.reaper = new Reaper(context, this.abandoned.signal);
    this.turns = context.team.courseOf(context.handlers.keys()).settles;
  }

  add(settlement: Settlement): void {
    this.waiting.push(settlement);
    this.writing ??= this.writeAll();
  }

  /**
   * Writes an outcome in a transaction of the handler's, with which it takes effect.
   * @throws ClaimLost when the job belongs to another claim, so that the transaction must be undone
   */
  async settleWithin(db: Database, settlement: Settlement, signal: AbortSignal): Promise<void> {
    const patience = new Backoff(LOCKED_FIRST, LOCKED_LONGEST);
    for (;;) {
      // Its log tells whether it was this transaction that has ended the job.
      const [answer] = (await this.settle(db, [settlement], { logSuccess: true })).jobs;
      if (answer === undefined && (await isSettledBy(db, this.context.names, settlement))) return;
      if (answer === undefined) throw new ClaimLost(settlement.claimId);
      if (isWritten(answer)) return;
      await patience.pause(signal);
      signal.throwIfAborted();
    }
  }

  /** Outcomes that are not written yet. */
  get backlog(): number {
    return this.waiting.length + this.locked.length + this.refused.length;
  }

  /** Resolves when everything added so far is written, or given up. */
  async flush(): Promise<void> {
    for (let busy; (busy = this.writing ?? this.unlocking ?? this.reaper.busy) !== undefined;) await busy;
  }

  /** Gives up what can't be written; whoever finds the claims stale takes the jobs back. */
  abandon(): void {
    this.abandoned.abort();
  }

  private async writeAll(): Promise<void> {
    await setImmediate(); // what ends in this turn of the event loop goes together
    while (this.waiting.length > 0) await this.writeBatch(this.waiting.splice(0, this.batchSize()));
    this.writing = undefined; // in the tick of the check: what came in between would wait for the next to come
  }

  /** How many of those that wait go together. */
  private batchSize(): number {
    let [count, bytes] = [0, 0];
    for (const { outcome } of this.waiting) {
      bytes += sizeOf(outcome);
      if (count === BATCH || (count > 0 && bytes > BATCH_BYTES)) break;
      count++;
    }
    return count;
  }

  private async writeBatch(batch: readonly Settlement[]): Promise<void> {
    const backoff = new Backoff();
    for (;;) {
      try {
        return this.report(batch, await this.write(batch));
      } catch (error) {
        if (this.abandoned.signal.aborted) return;
        reportError(this.context, 'settle', error);
        if (isRefusal(error)) return this.writeParts(batch);
        await backoff.pause(this.abandoned.signal);
      }
    }
  }

  // What PostgreSQL refuses to store must not hold up the outcomes beside it.
  private async writeParts(batch: readonly Settlement[]): Promise<void> {
    const [only] = batch;
    if (batch.length > 1 || only === undefined) {
      const middle = Math.ceil(batch.length / 2);
      for (const part of [batch.slice(0, middle), batch.slice(middle)]) await this.writeBatch(part);
      return;
    }
    const plain = withPlainText(only);
    if (plain !== undefined) return this.writeBatch([plain]);
    this.refused.push(only);
    this.retrying ??= this.retryRefused();
  }

  private async retryRefused(): Promise<void> {
    await pause(REFUSED_PAUSE, this.abandoned.signal);
    this.retrying = undefined;
    if (!this.abandoned.signal.aborted) for (const settlement of this.refused.splice(0)) this.add(settlement);
  }

  private async write(batch: readonly Settlement[]): Promise<readonly SettledJob[]> {
    const { jobs, reaped, hasWaited } = await this.turns.take(() =>
      this.settle(this.context.db, batch, {
        ended: this.reaper.ended,
        isQuick: performance.now() >= this.quickFrom,
      }),
    );
    this.reaper.removed(reaped);
    if (hasWaited) this.quickFrom = performance.now() + LOCKED_MEMORY;
    return jobs;
  }

  private settle(
    db: Database,
    batch: readonly Settlement[],
    { logSuccess = this.context.options.retention.successful > 0, ...rest }: Partial<SettleContext>,
  ): ReturnType<typeof settleJobs> {
    const { names, label, options } = this.context;
    return settleJobs(db, names, batch, { ...rest, worker: label, notify: options.notify, logSuccess });
  }

  private report(batch: readonly Settlement[], answers: readonly SettledJob[]): void {
    const settled = answers.filter(isWritten);
    if (settled.length < batch.length) return this.reportExceptions(batch, answers);
    this.reaper.add(this.book.close(settled));
    this.retryLater([]);
    this.tell(settled);
    this.listener.onWritten();
  }

  private reportExceptions(batch: readonly Settlement[], answers: readonly SettledJob[]): void {
    const answered = new Set(answers.map(keyOf));
    const absent = batch.filter((each) => !answered.has(keyOf(each)));
    const refused = absent.filter((each) => each.isCompleted !== true);
    const settled = [...answers.filter(isWritten), ...absent.filter((each) => each.isCompleted).map(asSuccessful)];
    const written = new Set(settled.map(keyOf));
    this.reaper.add(this.book.close([...settled, ...refused]));
    this.retryLater(batch.filter((each) => answered.has(keyOf(each)) && !written.has(keyOf(each))));
    if (settled.length > 0) this.tell(settled);
    if (refused.length > 0) this.context.observe({ type: 'refused', ids: refused.map(({ id }) => id) });
    this.listener.onWritten();
  }

  private tell(settled: readonly WrittenJob[]): void {
    const outcomes = settled.map(({ outcome }) => outcome);
    this.context.observe({ type: 'settled', ids: settled.map(({ id }) => id), outcomes });
    if (outcomes.includes('retried')) this.listener.onRequeued();
  }

  private retryLater(locked: readonly Settlement[]): void {
    if (locked.length === 0) return this.patience.reset();
    if (this.abandoned.signal.aborted) return;
    this.quickFrom = performance.now() + LOCKED_MEMORY;
    this.locked.push(...locked);
    this.unlocking ??= this.retryLocked();
  }

  private async retryLocked(): Promise<void> {
    await this.patience.pause(this.abandoned.signal);
    this.unlocking = undefined;
    for (const settlement of this.locked.splice(0)) this.add(settlement);
  }
}

// A database whose encoding lacks a character refuses the text that it stands in.
function withPlainText(settlement: Settlement): Settlement | undefined {
  const outcome = plainOutcome(settlement.outcome);
  return JSON.stringify(outcome) === JSON.stringify(settlement.outcome) ? undefined : { ...settlement, outcome };
}

type WrittenJob = SettledJob & { readonly outcome: RecordedOutcome };

function isWritten(job: SettledJob): job is WrittenJob {
  return job.outcome !== undefined;
}

function asSuccessful({ id, claimId }: Settlement): WrittenJob {
  return { id, claimId, outcome: 'successful' };
}

/** About how many bytes there are to be written, of results and errors. */
function sizeOf(outcome: Outcome): number {
  if ('error' in outcome) return outcome.error.message.length + (outcome.error.stack?.length ?? 0);
  return outcome.type === 'successful' ? (outcome.result?.json?.length ?? 0) : 0;
}

// A job can be settled twice by one process: for a claim that was lost and for the one that followed.
function keyOf({ id, claimId }: { id: string; claimId: string }): string {
  return `${claimId}/${id}`;
}

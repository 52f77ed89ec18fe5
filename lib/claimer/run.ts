import type { ClaimedJob } from '../domain/job.js';
import type { Outcome } from '../domain/outcome.js';
import type { Database } from '../sql/database.js';
import type { Settlement } from '../sql/settle.js';
import type { JobControl } from './worker-context.js';

/** Writes the success of a run in the transaction of `db`. */
export type Complete = (run: Run, db: Database, result: unknown) => Promise<void>;

/** One attempt, from its claim to its end, and what its handler may know and do of it. */
export class Run implements JobControl {
  startedAt = Infinity;
  /** Its success was written in a transaction of the handler. */
  isCompleted = false;
  private controller: AbortController | undefined;

  constructor(
    readonly job: ClaimedJob,
    private readonly writeCompletion: Complete,
  ) {}

  get claimId(): string {
    return this.job.claimId;
  }

  /** Made when it is asked for, as few handlers do and it costs more than all else here. */
  get signal(): AbortSignal {
    return (this.controller ??= new AbortController()).signal;
  }

  get reason(): unknown {
    return this.controller?.signal.reason as unknown;
  }

  abort(reason: Error): void {
    (this.controller ??= new AbortController()).abort(reason);
  }

  async complete(db: Database, result: unknown): Promise<void> {
    await this.writeCompletion(this, db, result);
    this.isCompleted = true;
  }

  settlement(outcome: Outcome): Settlement {
    const { id, claimId } = this.job;
    const duration = Math.max(performance.now() - this.startedAt, 0);
    return { id, claimId, outcome, duration, isCompleted: this.isCompleted };
  }
}

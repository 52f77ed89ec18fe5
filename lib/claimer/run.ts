import type { ClaimedJob } from '../domain/job.js';
import type { Outcome } from '../domain/outcome.js';
import type { Settlement } from '../sql/settle.js';

/** One attempt that is under way. */
export class Run {
  readonly startedAt = performance.now();
  /** Its success was written in a transaction of the handler. */
  isCompleted = false;
  private controller: AbortController | undefined;

  constructor(readonly job: ClaimedJob) {}

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

  settlement(outcome: Outcome): Settlement {
    const { id, claimId } = this.job;
    return { id, claimId, outcome, duration: performance.now() - this.startedAt, isCompleted: this.isCompleted };
  }
}

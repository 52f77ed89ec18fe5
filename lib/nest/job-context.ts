import type { LoggerService } from '@nestjs/common';

/** What a handler gets beside its job. */
export interface JobContext {
  /**
   * Aborts when the job should end: its claim was lost (`reason` is a `ClaimLost`), somebody has canceled it (`JobCanceled`), its
   * `timeout` is over (`JobTimeout`), or the worker stops and `shutdownTimeout` is over (`WorkerShutdown`). Hand it to `fetch` and
   * the like.
   */
  readonly signal: AbortSignal;
  /** Writes with the entrypoint as its context. */
  readonly logger: LoggerService;
  /** The claim that this attempt belongs to, as in the table `claim`. */
  readonly claimId: string;
}

import type { LoggerService } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

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
  /**
   * With `transactional: true`: the manager of the transaction that also carries the end of this attempt. What it writes happens
   * exactly once.
   * @throws ManagerError elsewhere
   */
  readonly manager: EntityManager;
  /**
   * Writes the success of this attempt in a transaction of yours: it takes effect with what you write there, or not at all. Call it
   * last. When the handler fails after the commit, the job is done all the same.
   * @param manager of a transaction of the queue's DataSource
   * @param result what the job returns. @default undefined
   * @throws ClaimLost when the job belongs to another worker by now: let the transaction be undone
   * @throws ManagerError
   */
  completeWith(manager: EntityManager, result?: unknown): Promise<void>;
}

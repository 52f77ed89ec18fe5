import type { Job } from '../domain/job.js';
import type { ResolvedWorkerOptions, Retention, RunPolicy } from '../options.js';
import type { Database } from '../sql/database.js';
import type { Names } from '../sql/names.js';
import type { Team } from './team.js';
import type { WorkerObserver } from './worker-event.js';

/** What all parts of one worker share. */
export interface WorkerContext {
  readonly db: Database;
  readonly names: Names;
  readonly team: Team;
  readonly options: ResolvedWorkerOptions & { readonly notify: boolean; readonly retention: Retention };
  readonly handlers: ReadonlyMap<string, Handler>;
  /** A label for people: which process this is. No two processes share one, so it also tells what a dead one had. */
  readonly label: string;
  readonly observe: WorkerObserver;
}

/** What runs the jobs of one entrypoint. */
export interface Handler extends RunPolicy {
  readonly entrypoint: string;
  run(job: Job, control: JobControl): unknown;
}

export interface JobControl {
  readonly signal: AbortSignal;
  readonly claimId: string;
  /** Whether the success of this attempt was written in a transaction of its handler. */
  readonly isCompleted: boolean;
  /**
   * Writes the success of this attempt in the transaction of `db`.
   * @throws ClaimLost when the job belongs to others by now
   */
  complete(db: Database, result: unknown): Promise<void>;
}

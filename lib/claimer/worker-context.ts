import type { Job } from '../domain/job.js';
import type { ResolvedWorkerOptions, Retention, RunPolicy } from '../options.js';
import type { Database } from '../sql/database.js';
import type { Names } from '../sql/names.js';
import type { WorkerObserver } from './worker-event.js';

/** What all parts of one worker share. */
export interface WorkerContext {
  readonly db: Database;
  readonly names: Names;
  readonly options: ResolvedWorkerOptions & { readonly notify: boolean; readonly retention: Retention };
  readonly handlers: ReadonlyMap<string, Handler>;
  /** A label for people: which process this is. */
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
}

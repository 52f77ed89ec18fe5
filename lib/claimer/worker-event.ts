import type { Outcome, RecordedOutcome } from '../domain/outcome.js';
import type { ClaimedJob } from '../domain/job.js';
import type { DissolvedJob } from '../sql/dissolve.js';

/** What a worker tells about itself: logged by the Nest layer, awaited by tests. */
export type WorkerEvent =
  | { readonly type: 'started'; readonly entrypoints: readonly string[]; readonly concurrency: number }
  /** A drain was ended before nothing was due. */
  | { readonly type: 'drain-stopped' }
  | { readonly type: 'listening' }
  | { readonly type: 'claimed'; readonly jobs: readonly ClaimedJob[] }
  /** `isCompleted`: its success may be written in a transaction of its handler, whatever came after. */
  | { readonly type: 'ended'; readonly job: ClaimedJob; readonly outcome: Outcome; readonly isCompleted?: boolean }
  /** Outcomes were written, those of `ids` in their order. */
  | { readonly type: 'settled'; readonly ids: readonly string[]; readonly outcomes: readonly RecordedOutcome[] }
  /** Outcomes were refused, because the jobs have been given to others. */
  | { readonly type: 'refused'; readonly ids: readonly string[] }
  | { readonly type: 'claim-lost'; readonly claimId: string }
  | { readonly type: 'dissolved'; readonly jobs: readonly DissolvedJob[] }
  /** Handlers did not end within `shutdownTimeout` and were aborted. */
  | { readonly type: 'aborted'; readonly jobs: readonly ClaimedJob[] }
  /** Something failed and is tried again. What is not `transient` will fail again until somebody does something. */
  | { readonly type: 'error'; readonly task: WorkerTask; readonly error: unknown; readonly transient: boolean };

/** The long-running parts, by what fails in them. */
export type WorkerTask = 'claim' | 'settle' | 'beat' | 'dissolve' | 'listen' | 'maintain';

export type WorkerObserver = (event: WorkerEvent) => void;

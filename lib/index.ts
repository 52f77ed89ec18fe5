export { PgQueueModule, type PgQueueExtras } from './pg-queue.module.js';
export { PgQueueCompletion, type JobCompletion, type WaitOptions } from './client/completion.js';
export {
  PgQueueProducer,
  type EnqueuedJob,
  type EnqueueOptions,
  type EnqueueTarget,
  type JobInput,
} from './client/producer.js';
export {
  PgQueueAdmin,
  type CancelResult,
  type ClearFilter,
  type JobFilter,
  type RemoveResult,
  type RequeueResult,
  type StatisticsFilter,
} from './client/admin.js';
export type { DurationStatistics, EntrypointStatistics } from './domain/statistics.js';
export { Entrypoint, type EntrypointName, type EntrypointOptions } from './nest/entrypoint.decorator.js';
export { InjectPgQueue } from './nest/inject-pg-queue.decorator.js';
export { PgQueueWorker, type DrainedJob } from './nest/pg-queue-worker.js';
export type { JobContext } from './nest/job-context.js';
export { getPgQueueToken, PG_QUEUE_OPTIONS, type PublicToken } from './tokens.js';
export { pgQueueMigrations } from './sql/migrations.js';
export type { AmbientTransaction, PgQueueOptions, RetentionOptions, RunOptions, WorkerOptions } from './options.js';
export type { ConflictPolicy } from './domain/conflict-policy.js';
export type { FailurePolicy } from './domain/failure-policy.js';
export type { EndStatus } from './domain/job-end.js';
export type { Job, JobHeaders } from './domain/job.js';
export type {
  AttemptRecord,
  AttemptStatus,
  EntrypointCounts,
  JobDetails,
  JobRecord,
  JobStatus,
} from './domain/job-record.js';
export type { RetryPolicy } from './domain/retry-policy.js';
export * from './domain/errors.js';

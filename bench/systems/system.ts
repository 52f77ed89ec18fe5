/** A job that does nothing. */
export interface BenchJob {
  /** Its entrypoint. @default 'noop', the only one that workers handle */
  readonly name?: string;
  /** Milliseconds until it is due. */
  readonly delay?: number;
  /** Whether it is more urgent than the others. */
  readonly urgent?: boolean;
}

/** A queue that is measured, on a database of its own. */
export interface System {
  /** Installs its schema and opens what producing needs. */
  open(): Promise<void>;
  /** Enqueues one job; resolves when it is committed, and workers are notified. */
  enqueue(): Promise<unknown>;
  /** Enqueues jobs in one call. */
  enqueueMany(jobs: readonly BenchJob[]): Promise<unknown>;
  /** Begins to work: calls `handle` at the start of each job. The function that it resolves with ends that when all is settled. */
  startWorker(handle: () => void): Promise<() => Promise<unknown>>;
  /** Whether every outcome is written, and nothing waits. */
  isDrained(): Promise<boolean>;
  /** Has workers begin no more jobs until `resume`, of those that can. */
  pause?(): Promise<unknown>;
  resume?(): Promise<unknown>;
  close(): Promise<unknown>;
}

export type CreateSystem<Options> = (url: string, options: Options) => System;

export const NOOP = 'noop';
/** About what a job of an application carries: ids. */
export const PAYLOAD = { orderId: 12_345 };

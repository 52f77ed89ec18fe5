/** How the attempts of one entrypoint have ended that were written in one step of time. */
export interface EntrypointStatistics {
  readonly entrypoint: string;
  /** When the step begins. */
  readonly at: Date;
  readonly successful: number;
  readonly retried: number;
  readonly failed: number;
  readonly exception: number;
  readonly canceled: number;
  readonly lost: number;
  /** How long handlers ran. `undefined`: none has ended. */
  readonly duration: DurationStatistics | undefined;
}

/** Milliseconds, each within a tenth of the true value. */
export interface DurationStatistics {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

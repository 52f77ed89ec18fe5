export interface QueryLimits {
  /** Milliseconds without an answer after which the connection is given up. */
  readonly timeout?: number;
}

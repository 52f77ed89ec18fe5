export interface QueryLimits {
  /** Milliseconds without an answer after which the connection is given up. */
  readonly timeout?: number;
  /** It is sent again and again, so a connection that is direct may keep it prepared. */
  readonly often?: boolean;
}

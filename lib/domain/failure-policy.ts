/** What becomes of a job after its last failure: it is kept as `failed`, or it goes. Its attempts are in the log either way. */
export type FailurePolicy = 'hold' | 'drop';

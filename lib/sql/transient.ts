// Connection, serialization and deadlock, resources, locks and cancellation, operator intervention, system errors.
const TRANSIENT_CLASSES = ['08', '40', '53', '55', '57', '58'];
// A primary that has become a standby: the next connection finds the new one.
const READ_ONLY = '25006';
const SQLSTATE = /^[0-9A-Z]{5}$/;

/**
 * Whether an error of the database passes by itself: it is down, busy, restarting or failing over. What is not transient
 * (a missing table, a revoked right, a bug) stays until somebody does something.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' && SQLSTATE.test(code)) {
    return code === READ_ONLY || TRANSIENT_CLASSES.includes(code.slice(0, 2));
  }
  // What sockets and pg itself say of a connection has no SQLSTATE; neither have mistakes of ours.
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError);
}

import { isNativeError } from 'node:util/types';
import { PgQueueError } from '../domain/errors.js';

// Connection, serialization and deadlock, resources, locks and cancellation, operator intervention, system errors.
const TRANSIENT_CLASSES = ['08', '40', '53', '55', '57', '58'];
// A primary that has become a standby: the next connection finds the new one. Transactions that took too long.
const TRANSIENT_CODES = ['25006', '25P03', '25P04'];
// None begins with E, as the codes of the operating system do: EPIPE.
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;

/** The code of an error that the server has sent; what sockets and pg itself say has none. */
export function sqlState(error: unknown): string | undefined {
  const code = isNativeError(error) && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && SQLSTATE.test(code) ? code : undefined;
}

/**
 * Whether an error passes by itself: the database is down, busy, restarting or failing over, or the way to it is. What is not
 * transient (a missing table, a revoked right, a bug) stays until somebody does something.
 */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return TRANSIENT_CODES.includes(state) || TRANSIENT_CLASSES.includes(state.slice(0, 2));
  return isNativeError(error) && !MISTAKES.some((mistake) => error instanceof mistake);
}

const CONTENTION = ['40001', '40P01'];

/** Whether a transaction was undone because of what others did at the same time: tried again, it may well pass. */
export function isContention(error: unknown): boolean {
  return CONTENTION.includes(sqlState(error) ?? '');
}

/** Whether a row was locked for longer than the statement may wait. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

// It isn't there: somebody has thrown it away (`DISCARD ALL`), or it is another backend. It is there already.
const PREPARATION = ['26000', '42P05'];

/** Whether it is a prepared statement that was refused, and not what it says. */
export function isAboutPreparation(error: unknown): boolean {
  return PREPARATION.includes(sqlState(error) ?? '');
}

// Data exceptions, violated constraints, and what triggers raise.
const REFUSAL_CLASSES = ['22', '23', 'P0'];
// JSON that nests too deep.
const TOO_COMPLEX = '54001';

/** Whether the server objects to what was to be written, and not to the statement as such. */
export function isRefusal(error: unknown): boolean {
  const state = sqlState(error) ?? '';
  return state === TOO_COMPLEX || REFUSAL_CLASSES.includes(state.slice(0, 2));
}

// Of ours, or of whoever configured us.
const MISTAKES = [TypeError, RangeError, ReferenceError, PgQueueError];

import { isShallow, isTooLong, JSON_LEVELS } from './json.js';

/** What became of one attempt, as its handler's process reports it. */
export type Outcome =
  | { readonly type: 'successful'; readonly result?: RecordedResult }
  /** `isFree`: without having spent the attempt. */
  | { readonly type: 'retried'; readonly delay: number; readonly error: RecordedError; readonly isFree?: boolean }
  | { readonly type: 'failed'; readonly error: RecordedError }
  | { readonly type: 'canceled'; readonly error: RecordedError }
  /** Given back without having spent the attempt: it did not begin, or the worker stopped. */
  | { readonly type: 'released' };

/**
 * What was recorded of it, which depends on the job's row as well: `exception` is the last failure of a job that is then dropped,
 * `canceled` any end but success of one that somebody has canceled.
 */
export type RecordedOutcome = (typeof RECORDED_OUTCOMES)[number];

export const RECORDED_OUTCOMES = ['successful', 'retried', 'failed', 'exception', 'canceled', 'released'] as const;

export interface RecordedError {
  readonly message: string;
  readonly stack: string | null;
}

export interface RecordedResult {
  /** JSON, or `null` when there is none to keep. */
  readonly json: string | null;
  /** Why it isn't kept. */
  readonly note?: string;
}

const MESSAGE_LIMIT = 8_192;
const STACK_LIMIT = 65_536;

/** Makes any thrown value storable, in bounded size. Never throws, whatever was thrown. */
export function recordError(thrown: unknown): RecordedError {
  try {
    if (thrown instanceof Error || isErrorLike(thrown)) {
      return { message: clip(`${thrown.name}: ${thrown.message}`, MESSAGE_LIMIT), stack: stackOf(thrown) };
    }
    return { message: clip(describe(thrown), MESSAGE_LIMIT), stack: null };
  } catch {
    return { message: 'The handler threw a value that could not be read', stack: null };
  }
}

/** The most of a result that is kept. Larger things belong elsewhere, and their address into the result. */
const RESULT_BYTES = 1024 * 1024;
const TOO_LONG = `The result is not kept: more than ${RESULT_BYTES} bytes of JSON`;

/** What a handler has returned, as JSON of bounded size. Never throws: the job has succeeded. */
export function recordResult(value: unknown): RecordedResult {
  try {
    if (isTooLong(value, RESULT_BYTES)) return { json: null, note: TOO_LONG };
    const json = (JSON.stringify(value) as string | undefined) ?? null;
    if (json === null) return { json };
    // A character takes one byte at least.
    const bytes = json.length > RESULT_BYTES ? json.length : new TextEncoder().encode(json).length;
    if (bytes > RESULT_BYTES) return { json: null, note: TOO_LONG };
    if (!isShallow(json))
      return { json: null, note: `The result is not kept: more than ${JSON_LEVELS} levels of JSON` };
    return { json };
  } catch (error) {
    return {
      json: null,
      note: `The result is not kept, as it can't be written as JSON: ${recordError(error).message}`,
    };
  }
}

// An error of another realm (a Jest or vm context) fails instanceof.
function isErrorLike(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'message' in value && 'name' in value;
}

const CAUSE_DEPTH = 5;

function stackOf(error: Error): string | null {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < CAUSE_DEPTH && current != null; depth++) {
    const text = describeCause(current);
    if (text !== '') parts.push(text);
    current = typeof current === 'object' && 'cause' in current ? current.cause : undefined;
  }
  return parts.length === 0 ? null : clip(parts.join('\nCaused by: '), STACK_LIMIT);
}

function describeCause(value: NonNullable<unknown>): string {
  if (!isErrorLike(value)) return describe(value);
  return typeof value.stack === 'string' ? value.stack : '';
}

function describe(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (isTooLong(value, STACK_LIMIT)) return Object.prototype.toString.call(value);
  return JSON.stringify(value) ?? Object.prototype.toString.call(value);
}

/** The same in characters that every encoding has. */
export function plainOutcome(outcome: Outcome): Outcome {
  if ('error' in outcome) return { ...outcome, error: toAscii(outcome.error) };
  if (outcome.type !== 'successful' || outcome.result == null) return outcome;
  const { json, note } = outcome.result;
  const escaped =
    json?.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`) ?? null;
  return { ...outcome, result: { json: escaped, ...(note === undefined ? {} : { note }) } };
}

function toAscii({ message, stack }: RecordedError): RecordedError {
  const plain = (text: string) => text.replaceAll(/[^\t\n\x20-\x7e]/gu, '?');
  return { message: plain(message), stack: stack === null ? null : plain(stack) };
}

// PostgreSQL's text can't hold U+0000.
function clip(text: string, limit: number): string {
  const clean = text.replaceAll('\0', '\u2400');
  return clean.length > limit ? `${clean.slice(0, limit)}…` : clean;
}

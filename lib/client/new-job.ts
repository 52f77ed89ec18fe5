import { types } from 'node:util';
import { checkEntrypointName } from '../domain/entrypoint-name.js';
import { InvalidOptionError, InvalidPayloadError } from '../domain/errors.js';
import { isShallow, isTooLong, JSON_LEVELS } from '../domain/json.js';
import { recordError } from '../domain/outcome.js';
import { anything, check, fields, list, object, type Check } from '../options-checks.js';
import { checkDelay, checkMaxAttempts, checkPriority } from '../options.js';
import type { ConflictPolicy } from '../domain/conflict-policy.js';
import type { NewJob } from '../sql/enqueue.js';
import type { EnqueueOptions, EnqueueTarget, JobInput } from './producer.js';

// Years that PostgreSQL and JavaScript both have.
const EARLIEST = Date.UTC(-4_000, 0);
const LATEST = Date.UTC(10_000, 0);

const isRunAt = (value: unknown): value is Date =>
  types.isDate(value) && value.getTime() >= EARLIEST && value.getTime() < LATEST;

const isConflictPolicy = (value: unknown): value is ConflictPolicy =>
  value === 'skip' || value === 'raise' || value === 'replace';

// Together with the entrypoint it has to fit into a page of an index.
const DEDUPE_KEY_BYTES = 1_024;

export function checkDedupeKey(value: unknown, option: string): string {
  if (typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= DEDUPE_KEY_BYTES) {
    if (!value.includes('\0') && value.isWellFormed()) return value;
  }
  const expected = `a string of 1 to ${DEDUPE_KEY_BYTES} bytes, without U+0000 and without lone surrogates (hash a longer one)`;
  throw new InvalidOptionError(option, value, expected);
}

const OPTIONS = {
  priority: checkPriority,
  delay: checkDelay,
  runAt: check(isRunAt, 'a valid Date before the year 10000'),
  headers: object,
  dedupeKey: checkDedupeKey,
  onConflict: check(isConflictPolicy, `'skip', 'raise' or 'replace'`),
  maxAttempts: checkMaxAttempts,
};

export const checkEnqueue = fields<EnqueueOptions & EnqueueTarget>({ ...OPTIONS, manager: anything });
export const checkTarget = fields<EnqueueTarget>({ manager: anything });
const checkInput = fields<JobInput>({ entrypoint: anything, payload: anything, ...OPTIONS });

const checkEach = list<NewJob>((value, where) => {
  const { entrypoint, payload, ...options } = checkInput(value, where);
  return toNewJob(entrypoint, payload, options, where);
});

/** Validates the jobs of one call. */
export const checkJobs: Check<readonly NewJob[]> = (value, where) => {
  const jobs = checkEach(value, where);
  const bytes = jobs.reduce((sum, { payload, headers }) => sum + bytesOf(payload) + bytesOf(headers), 0);
  if (bytes <= CALL_BYTES) return jobs;
  throw new InvalidOptionError(
    where,
    `${bytes} bytes of JSON`,
    `at most ${CALL_BYTES} bytes in one call: make several calls`,
  );
};

const bytesOf = (json: string | null) => (json === null ? 0 : Buffer.byteLength(json));

/**
 * Validates a job, whose options are checked, and writes its JSON.
 * @param where what errors call it, such as `jobs[3]`
 * @throws InvalidOptionError, InvalidPayloadError
 */
export function toNewJob(entrypoint: unknown, payload: unknown, options: EnqueueOptions, where: string): NewJob {
  const name = checkEntrypointName(entrypoint, `${where}.entrypoint`);
  if (options.delay !== undefined && options.runAt !== undefined) {
    throw new InvalidOptionError(`${where}.delay`, options.delay, 'either delay or runAt, not both');
  }
  if (options.onConflict !== undefined && options.dedupeKey === undefined) {
    throw new InvalidOptionError(`${where}.onConflict`, options.onConflict, 'a dedupeKey beside it');
  }
  return {
    entrypoint: name,
    payload: payload === undefined ? null : toJson(payload, name, 'its payload'),
    headers: options.headers === undefined ? null : headersToJson(options.headers, name),
    priority: options.priority ?? 0,
    maxAttempts: options.maxAttempts ?? null,
    delay: options.delay ?? 0,
    runAt: options.runAt?.getTime() ?? null,
    dedupeKey: options.dedupeKey ?? null,
    onConflict: options.onConflict ?? 'skip',
  };
}

function headersToJson(headers: object, entrypoint: string): string {
  const json = toJson(headers, entrypoint, 'its headers');
  if (!json.startsWith('{'))
    throw new InvalidPayloadError(entrypoint, 'its headers are no object, as their toJSON() has it');
  return json;
}

/** What a job carries is read with each claim. Larger things belong elsewhere, and their address into the payload. */
const JSON_BYTES = 10 * 1024 * 1024;
/** What one statement carries is in memory several times, on both sides. */
const CALL_BYTES = 256 * 1024 * 1024;

function toJson(value: unknown, entrypoint: string, what: string): string {
  const json = stringify(value, entrypoint, what);
  if (json === undefined)
    throw new InvalidPayloadError(entrypoint, `${what} is a ${typeof value}, which JSON doesn't have`);
  const bytes = Buffer.byteLength(json);
  if (bytes > JSON_BYTES) throw tooLarge(entrypoint, what, `${bytes} bytes`);
  if (!isShallow(json)) {
    throw new InvalidPayloadError(entrypoint, `${what} nests deeper than ${JSON_LEVELS} levels of JSON`);
  }
  return json;
}

function stringify(value: unknown, entrypoint: string, what: string): string | undefined {
  try {
    if (!isTooLong(value, JSON_BYTES)) return JSON.stringify(value);
  } catch (cause) {
    throw new InvalidPayloadError(entrypoint, `JSON.stringify fails on ${what}: ${recordError(cause).message}`, {
      cause,
    });
  }
  throw tooLarge(entrypoint, what, `more than ${JSON_BYTES} bytes`);
}

function tooLarge(entrypoint: string, what: string, size: string): InvalidPayloadError {
  return new InvalidPayloadError(
    entrypoint,
    `${what} is ${size} of JSON, and ${JSON_BYTES} is the most. Store it elsewhere and enqueue where it is`,
  );
}

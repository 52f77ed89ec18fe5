import { types } from 'node:util';
import { BYTES_OF_A_CHARACTER, isLonger } from '../domain/bytes.js';
import { checkEntrypointName } from '../domain/entrypoint-name.js';
import { InvalidOptionError, InvalidPayloadError } from '../domain/errors.js';
import { isShallow, isTooLong, JSON_LEVELS } from '../domain/json.js';
import { recordError } from '../domain/outcome.js';
import { anything, check, fields, knownFields, list, object, type Check } from '../options-checks.js';
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
  if (typeof value === 'string' && value !== '' && !isLonger(value, DEDUPE_KEY_BYTES)) {
    if (!value.includes('\0') && value.isWellFormed()) return value;
  }
  const expected = `a string of 1 to ${DEDUPE_KEY_BYTES} bytes, without U+0000 and without lone surrogates (hash a longer one)`;
  throw new InvalidOptionError(option, value, expected);
}

const checkRunAt = check(isRunAt, 'a valid Date before the year 10000');
const checkOnConflict = check(isConflictPolicy, `'skip', 'raise' or 'replace'`);

type Given<T> = { readonly [K in keyof T]?: unknown };

const OPTIONS = ['priority', 'delay', 'runAt', 'headers', 'dedupeKey', 'onConflict', 'maxAttempts'] as const;
const checkOptions = knownFields<EnqueueOptions & EnqueueTarget>(...OPTIONS, 'manager');
const checkInput = knownFields<JobInput>('entrypoint', 'payload', ...OPTIONS);
export const checkTarget = fields<EnqueueTarget>({ manager: anything });

/**
 * Validates a job, and writes its JSON.
 * @throws InvalidOptionError, InvalidPayloadError
 */
export function checkJob(entrypoint: unknown, payload: unknown, options: unknown, where: string): NewJob {
  return toNewJob(entrypoint, payload, checkOptions(options, where), where);
}

const checkEach = list<NewJob>((value, where) => {
  const input = checkInput(value, where);
  return toNewJob(input.entrypoint, input.payload, input, where);
});

/** Validates the jobs of one call. */
export const checkJobs: Check<readonly NewJob[]> = (value, where) => {
  const jobs = checkEach(value, where);
  const bytes = bytesOf(jobs);
  if (bytes <= CALL_BYTES) return jobs;
  throw new InvalidOptionError(
    where,
    `${bytes} bytes of JSON`,
    `at most ${CALL_BYTES} bytes in one call: make several calls`,
  );
};

// To count bytes takes longer than to see that they are few.
function bytesOf(jobs: readonly NewJob[]): number {
  const sum = (measure: (json: string) => number) =>
    jobs.reduce((total, { payload, headers }) => total + measure(payload ?? '') + measure(headers ?? ''), 0);
  const most = sum((json) => json.length * BYTES_OF_A_CHARACTER);
  return most <= CALL_BYTES ? most : sum((json) => Buffer.byteLength(json));
}

// Of its fields each is read once and by name, and nothing is made that isn't part of the result: there may be many thousand jobs.
function toNewJob(entrypoint: unknown, payload: unknown, options: Given<EnqueueOptions>, where: string): NewJob {
  const name = checkEntrypointName(entrypoint, where + '.entrypoint');
  const priority = optional(checkPriority, options.priority, where, '.priority');
  const delay = optional(checkDelay, options.delay, where, '.delay');
  const runAt = optional(checkRunAt, options.runAt, where, '.runAt');
  const headers = optional(object, options.headers, where, '.headers');
  const dedupeKey = optional(checkDedupeKey, options.dedupeKey, where, '.dedupeKey');
  const onConflict = optional(checkOnConflict, options.onConflict, where, '.onConflict');
  const maxAttempts = optional(checkMaxAttempts, options.maxAttempts, where, '.maxAttempts');
  if (delay !== undefined && runAt !== undefined) {
    throw new InvalidOptionError(`${where}.delay`, delay, 'either delay or runAt, not both');
  }
  if (onConflict !== undefined && dedupeKey === undefined) {
    throw new InvalidOptionError(`${where}.onConflict`, onConflict, 'a dedupeKey beside it');
  }
  return new CheckedJob(
    name,
    payload === undefined ? null : toJson(payload, name, 'its payload'),
    headers === undefined ? null : headersToJson(headers, name),
    priority ?? 0,
    maxAttempts ?? null,
    delay ?? 0,
    runAt?.getTime() ?? null,
    dedupeKey ?? null,
    onConflict ?? 'skip',
  );
}

// A class, as V8 may come to make what a literal describes in the old generation, which a full collection has to free.
class CheckedJob implements NewJob {
  constructor(
    readonly entrypoint: string,
    readonly payload: string | null,
    readonly headers: string | null,
    readonly priority: number,
    readonly maxAttempts: number | null,
    readonly delay: number,
    readonly runAt: number | null,
    readonly dedupeKey: string | null,
    readonly onConflict: ConflictPolicy,
  ) {}
}

function optional<T>(checkValue: Check<T>, value: unknown, where: string, name: `.${string}`): T | undefined {
  return value === undefined ? undefined : checkValue(value, where + name);
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
  if (isLonger(json, JSON_BYTES)) throw tooLarge(entrypoint, what, `${Buffer.byteLength(json)} bytes`);
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

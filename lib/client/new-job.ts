import { checkEntrypointName } from '../domain/entrypoint-name.js';
import { InvalidOptionError, InvalidPayloadError } from '../domain/errors.js';
import { check, fields } from '../options-checks.js';
import { checkDelay, checkMaxAttempts, checkPriority } from '../options.js';
import type { NewJob } from '../sql/enqueue.js';
import type { EnqueueOptions, JobInput } from './producer.js';

// Years that PostgreSQL and JavaScript both have.
const EARLIEST = Date.UTC(-4_000, 0);
const LATEST = Date.UTC(10_000, 0);

// Dates of another realm, as in Jest, fail instanceof.
const isDate = (value: unknown): value is Date => Object.prototype.toString.call(value) === '[object Date]';
const isRunAt = (value: unknown): value is Date => isDate(value) && value.getTime() >= EARLIEST && value.getTime() < LATEST;
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const checkOptions = fields<EnqueueOptions>({
  priority: checkPriority,
  delay: checkDelay,
  runAt: check(isRunAt, 'a valid Date before the year 10000'),
  headers: check(isObject, 'an object'),
  maxAttempts: checkMaxAttempts,
});

/**
 * Validates a job and writes its JSON.
 * @param where what errors call it, such as `jobs[3]`
 * @throws InvalidOptionError, InvalidPayloadError
 */
export function toNewJob({ entrypoint, payload, ...given }: JobInput, where: string): NewJob {
  const name = checkEntrypointName(entrypoint, `${where}.entrypoint`);
  const options = checkOptions(given, where);
  if (options.delay !== undefined && options.runAt !== undefined) {
    throw new InvalidOptionError(`${where}.delay`, options.delay, 'either delay or runAt, not both');
  }
  return {
    entrypoint: name,
    payload: payload === undefined ? null : toJson(payload, name, 'its payload'),
    headers: options.headers === undefined ? null : toJson(options.headers, name, 'its headers'),
    priority: options.priority ?? 0,
    maxAttempts: options.maxAttempts ?? null,
    delay: options.delay ?? 0,
    runAt: options.runAt?.getTime() ?? null,
  };
}

function toJson(value: unknown, entrypoint: string, what: string): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value) as string | undefined;
  } catch (cause) {
    throw new InvalidPayloadError(entrypoint, `JSON.stringify fails on ${what}: ${String(cause)}`, { cause });
  }
  if (json === undefined) throw new InvalidPayloadError(entrypoint, `${what} is a ${typeof value}, which JSON doesn't have`);
  return json;
}

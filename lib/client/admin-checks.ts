import { checkEntrypointName } from '../domain/entrypoint-name.js';
import { InvalidOptionError } from '../domain/errors.js';
import { JOB_STATUSES, type JobStatus } from '../domain/job-record.js';
import { check, fields, integer, list, type Check } from '../options-checks.js';
import type { ClearFilter, JobFilter } from './admin.js';
import { checkDedupeKey } from './new-job.js';

const INT8_MAX = 9_223_372_036_854_775_807n;
const LARGEST_PAGE = 1_000;

export const checkId: Check<string> = (value, option) => {
  if (typeof value === 'string' && /^(0|[1-9]\d{0,18})$/.test(value) && BigInt(value) <= INT8_MAX) return value;
  const isNumeric = typeof value === 'number' || typeof value === 'bigint';
  throw new InvalidOptionError(
    option,
    value,
    `the id of a job: a string of digits${isNumeric ? ', not a number' : ''}`,
  );
};

const checkEachId = list(checkId);

/** Each id once. */
export const checkIds: Check<readonly string[]> = (value, option) => [...new Set(checkEachId(value, option))];

const isStatus = (value: unknown): value is JobStatus => JOB_STATUSES.some((status) => status === value);
const isClearable = (value: unknown): value is 'queued' | 'failed' => value === 'queued' || value === 'failed';

const checkFilterFields = fields<JobFilter>({
  status: check(isStatus, `'queued', 'picked' or 'failed'`),
  entrypoint: checkEntrypointName,
  dedupeKey: checkDedupeKey,
  limit: integer(1, LARGEST_PAGE),
  after: checkId,
});

export const checkJobFilter: Check<JobFilter> = (value, option) => {
  const filter = checkFilterFields(value, option);
  if (filter.dedupeKey === undefined || filter.entrypoint !== undefined) return filter;
  throw new InvalidOptionError(`${option}.dedupeKey`, filter.dedupeKey, 'an entrypoint beside it');
};

const checkClearFields = fields<ClearFilter>({
  status: check(isClearable, `'queued' or 'failed' (cancel what is picked)`),
  entrypoint: checkEntrypointName,
});

/** A variable that was meant to hold a name must not clear everything. */
export const checkClearFilter: Check<ClearFilter> = (value, option) => {
  const filter = checkClearFields(value, option);
  const missing = Object.entries(value as ClearFilter).find(([, each]) => each === undefined);
  if (missing === undefined) return filter;
  throw new InvalidOptionError(`${option}.${missing[0]}`, undefined, 'a value, or to be left out');
};

import { types } from 'node:util';
import { checkEntrypointName } from '../domain/entrypoint-name.js';
import { InvalidOptionError } from '../domain/errors.js';
import { JOB_STATUSES, type JobStatus } from '../domain/job-record.js';
import { check, fields, integer, list, type Check } from '../options-checks.js';
import type { StatisticsRange } from '../sql/statistics.js';
import type { ClearFilter, JobFilter, StatisticsFilter } from './admin.js';
import { checkId } from './job-id.js';
import { checkDedupeKey } from './new-job.js';

const LARGEST_PAGE = 1_000;

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

const MINUTE = 60_000;

const isMoment = (value: unknown): value is Date => types.isDate(value) && !Number.isNaN(value.getTime());
const isStep = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) % MINUTE === 0;

const checkStatisticsFields = fields<StatisticsFilter>({
  from: check(isMoment, 'a valid Date'),
  to: check(isMoment, 'a valid Date'),
  step: check(isStep, `a multiple of ${MINUTE} milliseconds`),
});

/** Fills in the defaults. */
export function checkStatisticsFilter(value: unknown, now: Date): StatisticsRange {
  const { from, to = now, step } = checkStatisticsFields(value, 'statistics');
  if (from === undefined) throw new InvalidOptionError('statistics.from', from, 'a valid Date');
  if (from >= to)
    throw new InvalidOptionError('statistics.from', from, `a Date before statistics.to, which is ${to.toISOString()}`);
  // One more than there can be, as the first and the last may be parts of one.
  return { from, to, step: step ?? (Math.ceil((to.getTime() - from.getTime()) / MINUTE) + 1) * MINUTE };
}

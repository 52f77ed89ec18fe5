import { InvalidOptionError } from '../domain/errors.js';
import type { Check } from '../options-checks.js';

const INT8_MAX = 9_223_372_036_854_775_807n;

/** The id of a job, as `enqueue` returns it. */
export const checkId: Check<string> = (value, option) => {
  if (typeof value === 'string' && /^(0|[1-9]\d{0,18})$/.test(value) && BigInt(value) <= INT8_MAX) return value;
  const isNumeric = typeof value === 'number' || typeof value === 'bigint';
  throw new InvalidOptionError(
    option,
    value,
    `the id of a job: a string of digits${isNumeric ? ', not a number' : ''}`,
  );
};

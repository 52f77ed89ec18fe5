import { InvalidOptionError } from './domain/errors.js';

/** Returns the value when it is right, and throws an `InvalidOptionError` naming `option` when it is not. */
export type Check<T> = (value: unknown, option: string) => T;

export function check<T>(isRight: (value: unknown) => value is T, expected: string): Check<T> {
  return (value, option) => {
    if (!isRight(value)) throw new InvalidOptionError(option, value, expected);
    return value;
  };
}

/** For what is checked elsewhere. */
export const anything: Check<unknown> = (value) => value;

// Not an array, a Date or a Map, which have none of our properties.
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Object.prototype.toString.call(value) === '[object Object]';

export const object = check(isObject, 'an object');

export const string = check((value): value is string => typeof value === 'string', 'a string');

export const boolean = check((value): value is boolean => typeof value === 'boolean', 'true or false');

export function number(min: number, max: number, unit = ''): Check<number> {
  return numeric((value) => Number.isFinite(value), 'a number', min, max, unit);
}

export function integer(min: number, max: number, unit = ''): Check<number> {
  return numeric((value) => Number.isInteger(value), 'a whole number', min, max, unit);
}

function numeric(
  isRight: (value: number) => boolean,
  kind: string,
  min: number,
  max: number,
  unit: string,
): Check<number> {
  const expected = `${kind}${unit === '' ? '' : ` of ${unit}`} from ${min} to ${max}`;
  return (value, option) => {
    if (typeof value === 'number' && isRight(value) && value >= min && value <= max) return value;
    throw new InvalidOptionError(option, value, expected + hint(value));
  };
}

// Values from process.env are strings.
function hint(value: unknown): string {
  const looksNumeric = typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value));
  return looksNumeric ? `, not a string: write Number(${JSON.stringify(value)})` : '';
}

export function list<T>(item: Check<T>): Check<readonly T[]> {
  return (value, option) => {
    if (!Array.isArray(value)) throw new InvalidOptionError(option, value, 'an array');
    const checked: T[] = [];
    // map() would leave out holes.
    for (let index = 0; index < value.length; index++) checked.push(checkItem(item, value[index], option, index));
    return checked;
  };
}

// Where it is is spelled out for what is wrong only: of many thousands that takes longer than to check them.
function checkItem<T>(item: Check<T>, value: unknown, option: string, index: number): T {
  try {
    return item(value, '');
  } catch {
    return item(value, `${option}[${index}]`);
  }
}

/** An object of known fields, each checked; `undefined` counts as not given. */
export function fields<T extends object>(checks: { [K in keyof T]: Check<unknown> }): Check<Partial<T>> {
  const known = Object.entries<Check<unknown>>(checks);
  const checkKnown = knownFields<T>(...(Object.keys(checks) as (keyof T & string)[]));
  return (value, option) => {
    const given = checkKnown(value, option) as Readonly<Record<string, unknown>>;
    const checked: Record<string, unknown> = {};
    // Read by name: the properties of an object of a class may be inherited, or getters.
    for (const [key, checkField] of known) {
      const each = given[key];
      if (each !== undefined) checked[key] = checkField(each, `${option}.${key}`);
    }
    return checked as Partial<T>;
  };
}

/** An object of known fields, which are still to be checked. */
export function knownFields<T extends object>(
  ...names: readonly (keyof T & string)[]
): Check<{ [K in keyof T]?: unknown }> {
  const known = new Set<string>(names);
  return (value, option) => {
    if (!isObject(value)) throw new InvalidOptionError(option, value, `an object with some of: ${names.join(', ')}`);
    for (const key of Object.keys(value)) {
      if (!known.has(key) && value[key] !== undefined) throw unknownField(key, value[key], names, option);
    }
    return value;
  };
}

function unknownField(key: string, value: unknown, known: readonly string[], option: string): InvalidOptionError {
  const expected = `one of the options ${known.join(', ')}${didYouMean(key, known)}`;
  return new InvalidOptionError(`${option}.${key}`, value, expected);
}

function didYouMean(key: string, known: readonly string[]): string {
  const near = known.find((each) => distance(each.toLowerCase(), key.toLowerCase()) <= 2);
  return near === undefined ? '' : `. Did you mean ${near}?`;
}

// Levenshtein's edit distance, one row at a time.
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, left] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, right] of [...b].entries()) {
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (left === right ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

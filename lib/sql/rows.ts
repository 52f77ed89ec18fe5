import type { Row } from './database.js';

/** A column that is never null. */
export function text(row: Row, column: string): string {
  const value = row[column];
  if (value == null) throw new Error(`Column ${column} is missing`);
  return value;
}

export function integerOf(row: Row, column: string): number {
  return Number(text(row, column));
}

/** A column that holds milliseconds since 1970: read so, neither TimeZone nor DateStyle matters. */
export function dateOf(row: Row, column: string): Date {
  return new Date(Number(text(row, column)));
}

/** The expression that `dateOf` reads. */
export function milliseconds(expression: string): string {
  return `(date_part('epoch', ${expression}) * 1000)`;
}

/** A text that is one of those. */
export function memberOf<T extends string>(members: readonly T[], value: string): T {
  const member = members.find((each) => each === value);
  if (member === undefined) throw new Error(`${value} is none of ${members.join(', ')}`);
  return member;
}

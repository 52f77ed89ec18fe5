/** PostgreSQL's parser has a stack of its own, and gives up somewhere beyond. */
export const JSON_LEVELS = 1_000;

// Each level takes two characters.
const TOO_SHORT_TO_BE_DEEP = 2 * JSON_LEVELS;

/** Whether PostgreSQL can read this JSON: its arrays and objects nest no deeper than `JSON_LEVELS`. */
export function isShallow(json: string): boolean {
  if (json.length <= TOO_SHORT_TO_BE_DEEP) return true;
  let depth = 0;
  for (let index = 0; index < json.length; index++) {
    const character = json.charCodeAt(index);
    if (character === QUOTE) index = endOfString(json, index);
    else if (character === OPEN_ARRAY || character === OPEN_OBJECT) depth++;
    else if (character === CLOSE_ARRAY || character === CLOSE_OBJECT) depth--;
    if (depth > JSON_LEVELS) return false;
  }
  return true;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function endOfString(json: string, start: number): number {
  let end = start;
  do {
    end = json.indexOf('"', end + 1);
    if (end < 0) return json.length;
  } while (isEscaped(json, end));
  return end;
}

// By an odd number of backslashes before it.
function isEscaped(json: string, quote: number): boolean {
  let start = quote;
  while (json.charCodeAt(start - 1) === BACKSLASH) start--;
  return (quote - start) % 2 === 1;
}

// Whoever has so many is found out by JSON.stringify, which can't be stopped, but doesn't take much longer than this.
const MOST_VALUES = 100_000;

/**
 * Whether the JSON of this value is longer than `bytes` for sure, found out without writing it: of a Buffer of some hundred
 * megabytes JSON.stringify makes an array first, which takes all the memory of the process.
 */
export function isTooLong(value: unknown, bytes: number): boolean {
  const walk: Walk = { bytes, length: 0, seen: 0 };
  lookAt(value, walk, 0);
  return walk.length > bytes;
}

interface Walk {
  readonly bytes: number;
  length: number;
  seen: number;
}

const isOver = ({ bytes, length, seen }: Walk) => length > bytes || seen >= MOST_VALUES;

// What is deeper is refused anyway.
function lookAt(value: unknown, walk: Walk, level: number): void {
  walk.seen++;
  if (typeof value === 'string') walk.length += value.length;
  if (typeof value !== 'object' || value === null || level > JSON_LEVELS || hasOwnJson(value)) return;
  walk.length += leastLength(value);
  if (ArrayBuffer.isView(value) || isOver(walk)) return;
  if (Array.isArray(value)) return lookAtEach(value, walk, level);
  const fields = value as Readonly<Record<string, unknown>>;
  // V8 keeps the keys of objects of one shape, but not their values.
  for (const key of Object.keys(fields)) {
    if (isOver(walk)) return;
    lookAt(fields[key], walk, level + 1);
  }
}

// By index, as JSON.stringify: an array may have another iterator, or none.
function lookAtEach(values: readonly unknown[], walk: Walk, level: number): void {
  for (let index = 0; index < values.length && !isOver(walk); index++) lookAt(values[index], walk, level + 1);
}

const toJsonOfBuffer: unknown = Reflect.get(Buffer.prototype, 'toJSON');

// What toJSON() returns isn't known yet, and it is called once.
function hasOwnJson(value: object): boolean {
  return 'toJSON' in value && value.toJSON !== toJsonOfBuffer;
}

// An element takes a digit and a comma.
function leastLength(value: object): number {
  if (ArrayBuffer.isView(value)) return 'length' in value ? 2 * Number(value.length) : 0;
  return Array.isArray(value) ? 2 * value.length : 0;
}

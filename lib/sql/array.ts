const TEXT_OID = 25;
const JSON_OID = 114;

/** A text[] in PostgreSQL's binary format. pg would write it as a literal, which escapes every quote and backslash. */
export function textArray(values: readonly (string | null)[]): Buffer {
  return binaryArray(values, TEXT_OID);
}

/** As `textArray`, for a json[] of JSON texts. */
export function jsonArray(values: readonly (string | null)[]): Buffer {
  return binaryArray(values, JSON_OID);
}

const HEADER = 20;
const LENGTH = 4;
// To have it written takes longer than to write so many characters oneself.
const SHORT = 64;
const LAST_OF_ASCII = 0x7f;

// Dimensions, whether there are nulls, type, length, lower bound; then each element behind its length, -1 for null.
function binaryArray(values: readonly (string | null)[], oid: number): Buffer {
  const total = values.reduce((sum, value) => sum + LENGTH + (value === null ? 0 : Buffer.byteLength(value)), HEADER);
  const buffer = Buffer.allocUnsafe(total);
  const hasNull = values.includes(null) ? 1 : 0;
  let offset = 0;
  for (const field of [1, hasNull, oid, values.length, 1]) offset = buffer.writeInt32BE(field, offset);
  for (const value of values) {
    const start = offset + LENGTH;
    const end = value === null ? start : write(buffer, value, start);
    buffer.writeInt32BE(value === null ? -1 : end - start, offset);
    offset = end;
  }
  return buffer;
}

/** Returns where it ends. */
function write(buffer: Buffer, value: string, start: number): number {
  if (value.length > SHORT) return start + buffer.write(value, start);
  for (let index = 0; index < value.length; index++) {
    const character = value.charCodeAt(index);
    if (character > LAST_OF_ASCII) return start + buffer.write(value, start);
    buffer[start + index] = character;
  }
  return start + value.length;
}

/** An array of what needs no quotes: numbers, booleans, ids, plain words. pg would look at each character of each element. */
export function arrayLiteral(values: readonly (string | number | boolean)[]): string {
  return `{${values.join(',')}}`;
}

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

// Dimensions, whether there are nulls, type, length, lower bound; then each element behind its length, -1 for null.
function binaryArray(values: readonly (string | null)[], oid: number): Buffer {
  const sizes = values.map((value) => (value === null ? -1 : Buffer.byteLength(value)));
  const total = sizes.reduce((sum, size) => sum + 4 + Math.max(size, 0), HEADER);
  const buffer = Buffer.allocUnsafe(total);
  const hasNull = sizes.includes(-1) ? 1 : 0;
  let offset = 0;
  for (const field of [1, hasNull, oid, values.length, 1]) offset = buffer.writeInt32BE(field, offset);
  for (const [index, value] of values.entries()) {
    offset = buffer.writeInt32BE(sizes[index] ?? -1, offset);
    if (value !== null) offset += buffer.write(value, offset);
  }
  return buffer;
}

/** An array of what needs no quotes: numbers, booleans, ids, plain words. pg would look at each character of each element. */
export function arrayLiteral(values: readonly (string | number | boolean)[]): string {
  return `{${values.join(',')}}`;
}

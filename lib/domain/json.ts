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

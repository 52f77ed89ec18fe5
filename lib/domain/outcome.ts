/** What became of one attempt, as its handler's process reports it. */
export type Outcome =
  | { readonly type: 'successful' }
  | { readonly type: 'retried'; readonly delay: number; readonly error: RecordedError }
  | { readonly type: 'failed'; readonly error: RecordedError }
  /** Given back without having spent the attempt: it did not begin, or the worker stopped. */
  | { readonly type: 'released' };

export interface RecordedError {
  readonly message: string;
  readonly stack: string | null;
}

const MESSAGE_LIMIT = 8_192;
const STACK_LIMIT = 65_536;

/** Makes any thrown value storable, in bounded size. Never throws, whatever was thrown. */
export function recordError(thrown: unknown): RecordedError {
  try {
    if (thrown instanceof Error || isErrorLike(thrown)) {
      return { message: clip(`${thrown.name}: ${thrown.message}`, MESSAGE_LIMIT), stack: stackOf(thrown) };
    }
    return { message: clip(describe(thrown), MESSAGE_LIMIT), stack: null };
  } catch {
    return { message: 'The handler threw a value that could not be read', stack: null };
  }
}

// An error of another realm (a Jest or vm context) fails instanceof.
function isErrorLike(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'message' in value && 'name' in value;
}

const CAUSE_DEPTH = 5;

function stackOf(error: Error): string | null {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < CAUSE_DEPTH && current != null; depth++) {
    const text = describeCause(current);
    if (text !== '') parts.push(text);
    current = typeof current === 'object' && 'cause' in current ? current.cause : undefined;
  }
  return parts.length === 0 ? null : clip(parts.join('\nCaused by: '), STACK_LIMIT);
}

function describeCause(value: NonNullable<unknown>): string {
  if (!isErrorLike(value)) return describe(value);
  return typeof value.stack === 'string' ? value.stack : '';
}

function describe(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  return JSON.stringify(value) ?? Object.prototype.toString.call(value);
}

/** The same in characters that every encoding has. */
export function toAscii({ message, stack }: RecordedError): RecordedError {
  const plain = (text: string) => text.replaceAll(/[^\t\n\x20-\x7e]/gu, '?');
  return { message: plain(message), stack: stack === null ? null : plain(stack) };
}

// PostgreSQL's text can't hold U+0000.
function clip(text: string, limit: number): string {
  const clean = text.replaceAll('\0', '\u2400');
  return clean.length > limit ? `${clean.slice(0, limit)}…` : clean;
}

import { isLonger } from './bytes.js';
import { InvalidOptionError } from './errors.js';

/** Names are index keys and labels, so they stay short. */
export const ENTRYPOINT_NAME_BYTES = 512;

/** Returns the name when it can be stored and found again. */
export function checkEntrypointName(value: unknown, option: string): string {
  if (typeof value !== 'string' || value === '') {
    throw new InvalidOptionError(option, value, 'a name: a string that is not empty');
  }
  if (isLonger(value, ENTRYPOINT_NAME_BYTES)) {
    throw new InvalidOptionError(option, value, `a name of at most ${ENTRYPOINT_NAME_BYTES} bytes`);
  }
  if (value.includes('\0') || !value.isWellFormed()) {
    throw new InvalidOptionError(option, value, 'a name without U+0000 and without lone surrogates');
  }
  return value;
}

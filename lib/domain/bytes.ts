/** What UTF-8 takes for one of JavaScript's characters at the most. */
export const BYTES_OF_A_CHARACTER = 3;

/** Whether a text takes more bytes. To count them takes longer than to see that they are few. */
export function isLonger(text: string, bytes: number): boolean {
  return text.length * BYTES_OF_A_CHARACTER > bytes && Buffer.byteLength(text) > bytes;
}

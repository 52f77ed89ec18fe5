/** The longest time that a job may wait, in milliseconds. */
export const CENTURY = 100 * 365.25 * 86_400_000;

export function isDelay(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= CENTURY;
}

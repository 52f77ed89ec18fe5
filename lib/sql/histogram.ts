// How much wider each bucket is than the one before. A bucket's middle is off by a tenth of the value at most: (1.2 - 1) / (1.2 + 1).
// As in DDSketch (Masson, Rim, Lee: DDSketch, VLDB 2019).
const GROWTH = 1.2;
const SHORTEST = 0.01;
const LONGEST = 1e12;

/** The number of the bucket of a duration in milliseconds, as SQL; null for none. What is below 0.01 ms counts as that. */
export function bucketOf(duration: string): string {
  return `ceil(ln(least(greatest(${duration}, ${SHORTEST}), ${LONGEST})) / ln(${GROWTH}::float8))::smallint`;
}

/** The duration that a bucket stands for, in milliseconds. */
export function durationOf(bucket: number): number {
  return (2 * GROWTH ** bucket) / (GROWTH + 1);
}

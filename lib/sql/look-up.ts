/**
 * A step that keeps columns of another one as arrays, in the order of its ids, for an update that looks them up. Of a join with the
 * table the planner makes nested loops over either side, when it takes the table for empty.
 * @param source a step, and its condition
 * @param columns of it, by the names of the arrays; of types that have a fixed length, so that an element is found at once
 */
export function lookUp(step: string, source: string, columns: Readonly<Record<string, string>>): string {
  const arrays = Object.entries(columns).map(([name, column]) => `array_agg(${column} order by id) as ${name}`);
  return `${step} as materialized (
      select array_agg(id order by id) as ids, ${arrays.join(', ')} from ${source})`;
}

/** Where a row's values are in the arrays. Searches by halves. */
export const NTH = 'width_bucket(job.id, ids)';

/** The rows to look up, read before the table is. */
export const idsOf = (step: string) => `(select ids from ${step})::bigint[]`;

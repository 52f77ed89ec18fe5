/**
 * The step `changes`, which keeps columns of another one as arrays in the order of its ids, for an update that looks them up. Of a join
 * with the table the planner makes nested loops over either side, when it takes the table for empty.
 * @param source a step, and its condition
 * @param columns of it, by the names of the arrays; of types that have a fixed length, so that an element is found at once
 */
export function changesOf(source: string, columns: Readonly<Record<string, string>>): string {
  const arrays = Object.entries(columns).map(([name, column]) => `array_agg(${column} order by id) as ${name}`);
  return `changes as materialized (
      select array_agg(id order by id) as ids, ${arrays.join(', ')} from ${source})`;
}

/** What an array of `changes` has for the row of `job` that is updated. Searches by halves. */
export const changed = (name: string) => `changes.${name}[width_bucket(job.id, changes.ids)]`;

/** The ids to look up, read before the table is. */
export const CHANGED_IDS = '(select ids from changes)::bigint[]';

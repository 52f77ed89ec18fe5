import type { Database, Row } from './database.js';
import type { Names } from './names.js';
import { memberOf, text } from './rows.js';

/**
 * How an action on jobs meets those that somebody else holds locked. Whoever waits for one must hold no other, or workers could
 * not settle or claim that meanwhile. So many are `skip`ped, and then each of them is waited for by itself.
 */
export type Locking = 'skip' | 'wait';

export const LOCKS: Readonly<Record<Locking, string>> = { skip: 'for update skip locked', wait: 'for update' };

export interface ActionContext {
  readonly locking: Locking;
  readonly notify: boolean;
}

/** What an action did to a job. `left`: nothing yet, it is to be done by itself. */
export interface ActedJob<Outcome extends string> {
  readonly id: string;
  readonly outcome: Outcome | 'left';
}

/** Acts on jobs, of which there may be one only when it is to `wait`. Jobs that it does not apply to are absent. */
export type JobAction<Outcome extends string> = (
  db: Database,
  names: Names,
  ids: readonly string[],
  context: ActionContext,
) => Promise<ActedJob<Outcome>[]>;

export function toActedJobs<Outcome extends string>(rows: readonly Row[], outcomes: readonly Outcome[]) {
  return rows.map((row) => ({
    id: text(row, 'id'),
    outcome: memberOf<Outcome | 'left'>([...outcomes, 'left'], text(row, 'outcome')),
  }));
}

/** Locks the jobs of `$1` as `target`, and finds those that are `skipped`. What they are is read from the locked rows only. */
export const lockTarget = ({ job }: Names, locking: Locking) => `
    target as materialized (
      select id, entrypoint, status, attempt, awaited, cancel_requested
      from ${job} where id = any($1::bigint[])
      order by id
      ${LOCKS[locking]}),
    skipped as (
      select id from ${job}
      where id = any($1::bigint[]) and (select count(*) from target) < cardinality($1::bigint[])
        and id <> all(array(select id from target)))`;

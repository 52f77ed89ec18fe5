import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { text } from './rows.js';
import { jsonArray, textArray } from './text-array.js';

/** A job to insert. All is validated; `payload` and `headers` are JSON texts. */
export interface NewJob {
  readonly entrypoint: string;
  readonly payload: string | null;
  readonly headers: string | null;
  readonly priority: number;
  readonly maxAttempts: number | null;
  /** Milliseconds from the database's clock. */
  readonly delay: number;
  /** Milliseconds since 1970; wins over `delay`. */
  readonly runAt: number | null;
}

// Arrays, so that any number of jobs takes seven parameters (the protocol allows 65,535).
// Ids rise in the order of the inserts, which is the order of the arrays.
const insertSql = statement(
  (names) => `
    with input as (
      select entrypoint, payload, headers, priority, max_attempts, ordinality,
        coalesce(timestamptz 'epoch' + run_at * interval '1 ms', clock_timestamp() + delay * interval '1 ms') as run_at
      from unnest($1::text[], $2::json[], $3::json[], $4::int[], $5::int[], $6::float8[], $7::float8[])
        with ordinality as input(entrypoint, payload, headers, priority, max_attempts, delay, run_at, ordinality)),
    inserted as (
      insert into ${names.job} (entrypoint, payload, headers, priority, max_attempts, run_at, wait)
      select entrypoint, payload, headers, priority, max_attempts, run_at,
        case when run_at > clock_timestamp() then 'later' else 'ready' end
      from input order by ordinality
      returning id),
    notified as materialized (select pg_notify($8::text, '') where $9::boolean)
    select inserted.id::text from inserted left join notified on true order by inserted.id`,
);

/** Inserts jobs in one statement and returns their ids in order. */
export async function insertJobs(
  db: Database,
  names: Names,
  jobs: readonly NewJob[],
  notify: boolean,
): Promise<string[]> {
  const column = <K extends keyof NewJob>(key: K): NewJob[K][] => jobs.map((job) => job[key]);
  const rows = await db.query(insertSql(names), [
    textArray(column('entrypoint')),
    jsonArray(column('payload')),
    jsonArray(column('headers')),
    column('priority'),
    column('maxAttempts'),
    column('delay'),
    column('runAt'),
    names.channel,
    notify,
  ]);
  return rows.map((row) => text(row, 'id'));
}

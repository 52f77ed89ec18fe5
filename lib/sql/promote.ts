import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { integerOf, milliseconds } from './rows.js';

const BATCH = 500;

// The clock is read in a subselect, as a volatile function is no condition for an index: it would be asked of all later jobs.
// Notifies, because the rows may be of entrypoints that only others handle, who looked while they were locked here.
const promoteSql = statement(
  (names) => `
    with due as materialized (
      select id from ${names.job}
      where status = 'queued' and wait = 'later' and run_at <= (select clock_timestamp())
      order by run_at limit ${BATCH}
      for update skip locked),
    promoted as (
      update ${names.job} set wait = 'ready' where id = any(array(select id from due)) returning id),
    counted as materialized (select count(*) as count from promoted),
    notified as materialized (select pg_notify($1::text, '') from counted where $2::boolean and count > 0)
    select counted.count from counted left join notified on true`,
);

const nextSql = statement(
  (names) => `
    select ceil(greatest(0, ${milliseconds('min(run_at) - clock_timestamp()')})) as wait
    from ${names.job} where status = 'queued' and wait = 'later'
    having min(run_at) is not null`,
);

/** Makes the jobs whose time has come claimable, all of them. Returns how many. */
export async function promoteJobs(db: Database, names: Names, notify: boolean): Promise<number> {
  let total = 0;
  for (;;) {
    const [row] = await db.query(promoteSql(names), [names.channel, notify]);
    const count = row === undefined ? 0 : integerOf(row, 'count');
    total += count;
    if (count < BATCH) return total;
  }
}

/** Milliseconds until the next job is due, by the database's clock; `undefined` when none waits. */
export async function nextJobIn(db: Database, names: Names): Promise<number | undefined> {
  const [row] = await db.query(nextSql(names));
  return row === undefined ? undefined : integerOf(row, 'wait');
}

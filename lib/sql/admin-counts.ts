import type { EntrypointCounts } from '../domain/job-record.js';
import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { dateOf, integerOf, milliseconds, text } from './rows.js';

const countsSql = statement(
  (names) => `
    with counted as (
      select entrypoint,
        count(*) filter (where status = 'queued') as queued,
        count(*) filter (where status = 'queued' and wait = 'later' and run_at > statement_timestamp()) as delayed,
        count(*) filter (where status = 'picked') as picked,
        count(*) filter (where status = 'failed') as failed
      from ${names.job} group by entrypoint),
    paused as (select name, paused_at from ${names.entrypoint} where paused_at is not null)
    select coalesce(entrypoint, name) as entrypoint, ${milliseconds('paused_at')} as paused_at,
      coalesce(queued, 0) as queued, coalesce(delayed, 0) as delayed, coalesce(picked, 0) as picked,
      coalesce(failed, 0) as failed
    from counted full join paused on name = entrypoint
    order by coalesce(entrypoint, name) collate "C"`,
);

/** Reads the whole table. */
export async function countJobs(db: Database, names: Names): Promise<EntrypointCounts[]> {
  const rows = await db.query(countsSql(names));
  return rows.map((row) => ({
    entrypoint: text(row, 'entrypoint'),
    queued: integerOf(row, 'queued'),
    delayed: integerOf(row, 'delayed'),
    picked: integerOf(row, 'picked'),
    failed: integerOf(row, 'failed'),
    pausedAt: row['paused_at'] == null ? undefined : dateOf(row, 'paused_at'),
  }));
}

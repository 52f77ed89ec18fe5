import { LOCKS, toActedJobs, type JobAction, type Locking } from './admin-action.js';
import { statement } from './names.js';
import { sqlState } from './transient.js';

const OUTCOMES = ['requeued', 'conflict'] as const;

// Jobs with a key are left to be done by themselves. An update takes keys in any order, so that it and an enqueue of some of them
// could deadlock; and it has no `on conflict`.
const requeueSql = (locking: Locking) =>
  statement(
    (names) => `
    with target as materialized (
      select id, entrypoint, dedupe_key from ${names.job}
      where id = any($1::bigint[]) and status = 'failed' ${locking === 'skip' ? 'and dedupe_key is null' : ''}
      order by id
      ${LOCKS[locking]}),
    skipped as (
      select id from ${names.job}
      where id = any($1::bigint[]) and status = 'failed' and id <> all(array(select id from target))),
    free as materialized (
      select id from target
      where dedupe_key is null or not exists (
        select from ${names.job} as other
        where other.entrypoint = target.entrypoint and other.dedupe_key = target.dedupe_key
          and other.status in ('queued', 'picked'))),
    requeued as (
      update ${names.job} set status = 'queued', wait = 'ready', attempt = 0, losses = 0, cancel_requested = false, run_at = clock_timestamp()
      where id = any(array(select id from free))),
    notified as materialized (select pg_notify($2::text, '') where $3::boolean and exists (select from free))
    select id, case when exists (select from free where free.id = target.id) then 'requeued' else 'conflict' end as outcome
    from target left join notified on true
    ${locking === 'skip' ? `union all select id, 'left' from skipped` : ''}`,
  );

const SQL = { skip: requeueSql('skip'), wait: requeueSql('wait') };
const UNIQUE_VIOLATION = '23505';

/** Queues failed jobs again, with all their attempts. `conflict`: another job has its key. */
export const requeueJobs: JobAction<(typeof OUTCOMES)[number]> = async (db, names, ids, { locking, notify }) => {
  try {
    return toActedJobs(await db.query(SQL[locking](names), [ids, names.channel, notify]), OUTCOMES);
  } catch (error) {
    // The key was taken since the statement began; the job is the only one of this call.
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    return ids.map((id) => ({ id, outcome: 'conflict' }));
  }
};

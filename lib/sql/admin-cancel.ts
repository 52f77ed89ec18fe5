import { lockTarget, toActedJobs, type JobAction, type Locking } from './admin-action.js';
import { CANCELED, statement } from './names.js';

const OUTCOMES = ['canceled', 'requested', 'unchanged'] as const;

// Branches on the locked row: two statements of which each looks for its own status would both miss a job that is being claimed.
const cancelSql = (locking: Locking) =>
  statement(
    (names) => `
    with ${lockTarget(names, locking)},
    canceled as (
      delete from ${names.job} where id = any(array(select id from target where status <> 'picked'))),
    requested as (
      update ${names.job} set cancel_requested = true
      where id = any(array(select id from target where status = 'picked' and not cancel_requested))),
    logged as (
      insert into ${names.jobLog} (job_id, entrypoint, attempt, status)
      select id, entrypoint, attempt, 'canceled' from target where status <> 'picked'),
    notified as materialized (
      select pg_notify($2::text, '${CANCELED}')
      where $4::boolean and exists (select from target where status = 'picked' and not cancel_requested)),
    told as materialized (
      select count(pg_notify($3::text, id::text)) from target where $4::boolean and awaited and status <> 'picked')
    select id,
      case when status <> 'picked' then 'canceled' when cancel_requested then 'unchanged' else 'requested' end as outcome
    from target left join notified on true left join told on true
    union all
    select id, 'left' from skipped`,
  );

const SQL = { skip: cancelSql('skip'), wait: cancelSql('wait') };

/** Ends jobs that don't run, and marks those that do; their workers are told. */
export const cancelJobs: JobAction<(typeof OUTCOMES)[number]> = async (db, names, ids, { locking, notify }) => {
  const rows = await db.query(SQL[locking](names), [ids, names.channel, names.endChannel, notify]);
  return toActedJobs(rows, OUTCOMES);
};

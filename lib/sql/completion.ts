import { END_STATUSES, type EndStatus } from '../domain/job-end.js';
import type { Database, Row } from './database.js';
import type { QueryLimits } from './query-limits.js';
import { quoteLiteral, statement, type Names } from './names.js';
import { memberOf, text } from './rows.js';

/** What is known of a job that somebody waits for. */
export type AwaitedJob =
  /** `tells`: its end will be notified. */
  | { readonly id: string; readonly state: 'live'; readonly tells: boolean }
  | { readonly id: string; readonly state: 'ended'; readonly end: JobEnd }
  | { readonly id: string; readonly state: 'unknown' };

export interface JobEnd {
  readonly status: EndStatus;
  /** JSON. */
  readonly result: string | null;
  readonly error: string | null;
}

const LIVE = `('queued', 'picked')`;
const ENDS = END_STATUSES.map(quoteLiteral).join(', ');

/**
 * Waits for nobody: a row that is locked is not marked, and one that ends meanwhile fails the condition on its status when it is
 * looked at again under the lock. Neither tells, so both have to be looked at again.
 * Job and log are of one snapshot, so an end is never seen as a job that is gone without one.
 */
const awaitSql = statement(
  (names) => `
    with wanted as materialized (select unnest($1::bigint[]) as id),
    markable as materialized (
      select job.id
      from wanted cross join lateral (
        select id from ${names.job}
        where id = wanted.id and status in ${LIVE} and not awaited and $2::boolean
        for no key update skip locked) as job),
    marked as (
      update ${names.job} as job set awaited = true
      where job.id = any(array(select id from markable))
      returning job.id)
    select wanted.id, job.status, ended.status as end_status, ended.result, ended.error,
      $2::boolean and (job.awaited or marked.id is not null) as tells
    from wanted
    left join lateral (select status, awaited from ${names.job} where id = wanted.id limit 1) as job on true
    left join marked on marked.id = wanted.id
    left join lateral (
      select status, result, error from ${names.jobLog}
      where job_id = wanted.id and status in (${ENDS}) and (job.status is null or job.status not in ${LIVE})
      order by ended_at desc limit 1) as ended on true`,
);

/** Looks whether jobs have ended, and with `notify` has the ends of the others notified to `names.endChannel`. */
export async function awaitJobs(
  db: Database,
  names: Names,
  ids: readonly string[],
  { notify, ...limits }: QueryLimits & { readonly notify: boolean },
): Promise<AwaitedJob[]> {
  const rows = await db.query(awaitSql(names), [ids, notify], limits);
  return rows.map(toAwaitedJob);
}

function toAwaitedJob(row: Row): AwaitedJob {
  const id = text(row, 'id');
  const { status, end_status: logged, result = null, error = null } = row;
  // A held job is one though its log is gone.
  if (status === 'failed') return { id, state: 'ended', end: { status, result, error } };
  if (status != null) return { id, state: 'live', tells: row['tells'] === 't' };
  if (logged == null) return { id, state: 'unknown' };
  return { id, state: 'ended', end: { status: memberOf(END_STATUSES, logged), result, error } };
}

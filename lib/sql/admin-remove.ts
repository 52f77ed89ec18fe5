import { lockTarget, toActedJobs, type JobAction, type Locking } from './admin-action.js';
import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { integerOf } from './rows.js';

// By their ids, for which the planner takes the index; of a join it may expect rows enough to read the whole table.
const removed = ({ job, jobLog }: Names) => `
    removed as (
      delete from ${job} where id = any(array(select id from target where status <> 'picked'))),
    logged as (
      insert into ${jobLog} (job_id, entrypoint, attempt, status)
      select id, entrypoint, attempt, 'deleted' from target where status <> 'picked'),
    told as materialized (
      select count(pg_notify($2::text, id::text)) from target where $3::boolean and awaited and status <> 'picked')`;

const OUTCOMES = ['removed', 'running'] as const;

const removeSql = (locking: Locking) =>
  statement(
    (names) => `
    with ${lockTarget(names, locking)},
    ${removed(names)}
    select id, case status when 'picked' then 'running' else 'removed' end as outcome
    from target left join told on true
    union all
    select id, 'left' from skipped`,
  );

const REMOVE = { skip: removeSql('skip'), wait: removeSql('wait') };

/** Deletes jobs that don't run. */
export const removeJobs: JobAction<(typeof OUTCOMES)[number]> = async (db, names, ids, { locking, notify }) => {
  const rows = await db.query(REMOVE[locking](names), [ids, names.endChannel, notify]);
  return toActedJobs(rows, OUTCOMES);
};

/** `any`: that does not run. */
export type ClearedStatus = 'queued' | 'failed' | 'any';

export interface ClearRequest {
  readonly status: ClearedStatus;
  readonly entrypoint: string | undefined;
  /** Only jobs of lower ids; `undefined`: all. */
  readonly below: string | undefined;
  /** How many jobs are looked at. */
  readonly limit: number;
}

const CONDITIONS: Readonly<Record<ClearedStatus, string>> = {
  queued: `status = 'queued'`,
  failed: `status = 'failed'`,
  any: `status in ('queued', 'failed')`,
};

// Walks down the ids and looks at what fits within each stretch. Of a limit on those that fit, the planner may make a sort of all
// of them, once more for each batch. The failed have an index of their ids.
const clearSql = (status: ClearedStatus) =>
  statement(
    (names) => `
    with stretch as materialized (
      select id from ${names.job}
      where ($4::bigint is null or id < $4::bigint) ${status === 'failed' ? `and status = 'failed'` : ''}
      order by id desc limit $5::int),
    target as materialized (
      select id, entrypoint, status, attempt, awaited from ${names.job}
      where id = any(array(select id from stretch)) and ${CONDITIONS[status]}
        and ($1::text is null or entrypoint = $1::text)
      order by id
      for update skip locked),
    ${removed(names)}
    select (select count(*) from target left join told on true) as count,
      (select case when count(*) = $5::int then min(id) end from stretch) as below`,
  );

const CLEAR = { queued: clearSql('queued'), failed: clearSql('failed'), any: clearSql('any') };

export interface ClearedBatch {
  readonly count: number;
  /** Where the next batch begins; `undefined`: there is none. */
  readonly below: string | undefined;
}

/** Deletes of the newest jobs those that fit and that nobody has locked. Going down, it never meets what is enqueued meanwhile. */
export async function clearJobs(
  db: Database,
  names: Names,
  { status, entrypoint, below, limit }: ClearRequest,
  notify: boolean,
): Promise<ClearedBatch> {
  const values = [entrypoint ?? null, names.endChannel, notify, below ?? null, limit];
  const [row] = await db.query(CLEAR[status](names), values);
  return { count: row === undefined ? 0 : integerOf(row, 'count'), below: row?.['below'] ?? undefined };
}

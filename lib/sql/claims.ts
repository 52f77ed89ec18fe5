import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { text } from './rows.js';

// Nobody waits for a claim's row: one that a user's transaction holds must not stop the beats of all others.
// An id that is only locked is returned all the same.
const beatSql = statement(
  (names) => `
    with mine as materialized (
      select claim_id from ${names.claim} where claim_id = any($1::uuid[])
      order by claim_id for no key update skip locked),
    beaten as (
      update ${names.claim} as claim set heartbeat_at = clock_timestamp() from mine where claim.claim_id = mine.claim_id)
    select claim_id from ${names.claim} where claim_id = any($1::uuid[])`,
);

/** Renews claims. Returns those that still exist; the others are lost. */
export async function beatClaims(db: Database, names: Names, claimIds: readonly string[]): Promise<Set<string>> {
  const rows = await db.query(beatSql(names), [claimIds]);
  return new Set(rows.map((row) => text(row, 'claim_id')));
}

// Looks at the jobs, not at what its caller believes: a claim whose row went before its jobs did would strand them.
const reapSql = statement(
  (names) => `
    with ended as materialized (
      select claim_id, job_ids from ${names.claim} where claim_id = any($1::uuid[])
      order by claim_id for update skip locked),
    reaped as (
      delete from ${names.claim} as claim using ended
      where claim.claim_id = ended.claim_id
        and not exists (
          select from ${names.job} as job where job.id = any(ended.job_ids) and job.claim_id = ended.claim_id)
      returning claim.claim_id)
    select claim_id from reaped`,
);

/** Removes claims of which no job is left. Call it after the statement that settled their last jobs, never within it. */
export async function reapClaims(db: Database, names: Names, claimIds: readonly string[]): Promise<string[]> {
  const rows = await db.query(reapSql(names), [claimIds]);
  return rows.map((row) => text(row, 'claim_id'));
}

// Skips jobs that somebody has locked and keeps the claim's row while one of them remains, for the next round.
const dissolveSql = statement(
  (names) => `
    with stale as materialized (
      select claim_id, job_ids, worker from ${names.claim}
      where heartbeat_at < clock_timestamp() - $1::float8 * interval '1 ms'
      order by claim_id for update skip locked),
    member as materialized (
      select stale.claim_id, stale.worker, unnested.id from stale cross join unnest(stale.job_ids) as unnested(id)),
    unsettled as materialized (
      select job.id, job.claim_id from member join ${names.job} as job on job.id = member.id and job.claim_id = member.claim_id),
    freed as materialized (
      select job.id, job.entrypoint, job.attempt, job.claim_id, member.worker,
        case when job.attempt >= job.max_attempts then 'failed' else 'lost' end as outcome
      from member join ${names.job} as job
        on job.id = member.id and job.claim_id = member.claim_id and job.status = 'picked'
      order by job.id
      for update of job skip locked),
    updated as (
      update ${names.job} as job
      set status = case freed.outcome when 'failed' then 'failed' else 'queued' end, claim_id = null, wait = 'ready'
      from freed where job.id = freed.id),
    logged as (
      insert into ${names.jobLog} (job_id, entrypoint, attempt, status, claim_id, worker, error)
      select id, entrypoint, attempt, outcome, claim_id, worker, $2::text from freed),
    removed as (
      delete from ${names.claim} as claim using stale
      where claim.claim_id = stale.claim_id
        and not exists (
          select from unsettled
          where unsettled.claim_id = stale.claim_id and unsettled.id not in (select id from freed))),
    notified as materialized (
      select pg_notify($3::text, '') where $4::boolean and exists (select from freed where outcome = 'lost'))
    select freed.id, freed.entrypoint, freed.outcome, freed.claim_id, freed.worker from freed left join notified on true`,
);

/** A job that its worker has left behind. */
export interface DissolvedJob {
  readonly id: string;
  readonly entrypoint: string;
  /** `lost`: queued again. `failed`: it was the last attempt. */
  readonly outcome: 'lost' | 'failed';
  readonly claimId: string;
  readonly worker: string;
}

const LOST_MESSAGE = 'The worker stopped beating while it ran this job (killed, or its event loop was blocked)';

/** Takes back the jobs of claims that were silent for `heartbeatTimeout` milliseconds. */
export async function dissolveClaims(
  db: Database,
  names: Names,
  { heartbeatTimeout, notify }: { heartbeatTimeout: number; notify: boolean },
): Promise<DissolvedJob[]> {
  const rows = await db.query(dissolveSql(names), [heartbeatTimeout, LOST_MESSAGE, names.channel, notify]);
  return rows.map((row) => ({
    id: text(row, 'id'),
    entrypoint: text(row, 'entrypoint'),
    outcome: text(row, 'outcome') === 'failed' ? 'failed' : 'lost',
    claimId: text(row, 'claim_id'),
    worker: text(row, 'worker'),
  }));
}

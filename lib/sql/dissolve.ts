import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { text } from './rows.js';

/** Share of `heartbeatTimeout` after which a claim of a living worker would have been renewed more than once. */
const MISSED_BEATS = 0.75;

/** A worker renews all of its claims in one statement, so one that is stale condemns those of its others that have missed beats. */
const doomedJobs = (names: Names) => `with silent as materialized (
      select claim_id, worker, clock_timestamp() - heartbeat_at >= $1::float8 * interval '1 ms' as stale
      from ${names.claim}
      where heartbeat_at <= clock_timestamp() - ${MISSED_BEATS} * $1::float8 * interval '1 ms'),
    doomed as materialized (
      select claim.claim_id, claim.job_ids, claim.worker
      from silent join ${names.claim} as claim on claim.claim_id = silent.claim_id
      where silent.worker in (select worker from silent where stale)
        and claim.heartbeat_at <= clock_timestamp() - ${MISSED_BEATS} * $1::float8 * interval '1 ms'
      order by claim.claim_id for update of claim skip locked),
    unsettled as materialized (
      select job.id, doomed.claim_id, doomed.worker,
        count(*) over (partition by doomed.worker) > 1 or exists (
          select from ${names.claim} as other
          where other.worker = doomed.worker and other.claim_id not in (select claim_id from doomed)) as in_company
      from doomed cross join unnest(doomed.job_ids) as member(id)
      join ${names.job} as job on job.id = member.id and job.claim_id = doomed.claim_id),`;

/**
 * Who of the jobs that ran together has killed the process can't be told. The attempt of such a job is given back, once, and it
 * runs alone next. Spent is an attempt that is lost again, or was lost by a worker that had nothing else to run.
 *
 * Skips jobs that somebody has locked and keeps the claim's row while one of them remains, for the next round.
 */
const dissolveSql = statement(
  (names) => `
    ${doomedJobs(names)}
    freed as materialized (
      select job.id, job.entrypoint, job.attempt, job.claim_id, unsettled.worker, loss.spent,
        case when loss.spent and job.attempt >= job.max_attempts then 'failed' else 'lost' end as outcome
      from unsettled join ${names.job} as job
        on job.id = unsettled.id and job.claim_id = unsettled.claim_id and job.status = 'picked'
      cross join lateral (
        select not unsettled.in_company or exists (
          select from ${names.jobLog} as log
          where log.job_id = job.id and log.attempt = job.attempt and log.status = 'lost') as spent) as loss
      order by job.id
      for update of job skip locked),
    updated as (
      update ${names.job} as job
      set status = case freed.outcome when 'failed' then 'failed' else 'queued' end, claim_id = null,
        attempt = job.attempt - (not freed.spent)::int,
        wait = case freed.outcome when 'failed' then 'ready' else 'alone' end,
        run_at = clock_timestamp()
      from freed where job.id = freed.id),
    logged as (
      insert into ${names.jobLog} (job_id, entrypoint, attempt, status, claim_id, worker, error)
      select id, entrypoint, attempt, outcome, claim_id, worker, $2::text from freed),
    removed as (
      delete from ${names.claim} as claim using doomed
      where claim.claim_id = doomed.claim_id
        and not exists (
          select from unsettled
          where unsettled.claim_id = doomed.claim_id and unsettled.id not in (select id from freed))),
    notified as materialized (
      select pg_notify($3::text, '') where $4::boolean and exists (select from freed where outcome = 'lost'))
    select freed.id, freed.entrypoint, freed.outcome, freed.claim_id, freed.worker from freed left join notified on true`,
);

/** A job that its worker has left behind. */
export interface DissolvedJob {
  readonly id: string;
  readonly entrypoint: string;
  /** `lost`: queued again, to run alone. `failed`: its last attempt is spent. */
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

import type { Database } from './database.js';
import { LATER, statement, type Names } from './names.js';
import { memberOf, text } from './rows.js';
import { changed, CHANGED_IDS, changesOf } from './changes.js';
import { countAttempts } from './statistics.js';

// So that a job comes to its end that kills its worker, but never alone.
const LOSSES_FOR_FREE = 10;

const outcome = `
        case
          when job.cancel_requested then 'canceled'
          when not job.spent or job.attempt < job.max_attempts then 'lost'
          when job.on_failure = 'drop' then 'exception'
          else 'failed'
        end`;

// A process has a label of its own. The row of a claim may be there for a moment longer than its last job.
const isAlone = (names: Names) => `not stale.company and count(*) over (partition by stale.claim_id) = 1
          and not exists (
            select from ${names.claim} as other cross join unnest(other.job_ids) as member(id)
            cross join lateral (
              select from ${names.job} where id = member.id and claim_id = other.claim_id limit 1) as job
            where other.worker = stale.worker and other.claim_id <> stale.claim_id)`;

// Looks at each job by its id, in the order of ids: of a plain join the planner expects rows enough to read the whole table for
// them.
const freed = (names: Names) => `
    stale as materialized (
      select claim_id, job_ids, worker, company from ${names.claim}
      where heartbeat_at <= clock_timestamp() - $1::float8 * interval '1 ms' and claim_id <> all($2::uuid[])
      order by claim_id
      for update skip locked),
    unsettled as materialized (
      select job.id, stale.claim_id, stale.worker, ${isAlone(names)} as is_alone
      from stale cross join unnest(stale.job_ids) as member(id)
      cross join lateral (
        select id from ${names.job} where id = member.id and claim_id = stale.claim_id limit 1) as job
      order by job.id),
    freed as materialized (
      select job.*, unsettled.worker, ${outcome} as outcome
      from unsettled cross join lateral (
        select id, claim_id, entrypoint, attempt, max_attempts, on_failure, cancel_requested, awaited,
          unsettled.is_alone or losses >= ${LOSSES_FOR_FREE} as spent
        from ${names.job} as job
        where id = unsettled.id and claim_id = unsettled.claim_id and status = 'picked'
        for update skip locked) as job)`;

/**
 * Who of the jobs that ran together has killed the process can't be told. So the attempt is given back and the job starts alone
 * next. Spent is an attempt that is lost when its worker had nothing else, or after losses enough.
 *
 * Skips jobs that somebody has locked and keeps the claim's row while one of them remains, for the next round.
 */
const dissolveSql = statement(
  (names) => `
    with ${freed(names)},
    deleted as (
      delete from ${names.job} where id = any(array(select id from freed where outcome in ('exception', 'canceled')))),
    ${changesOf(`freed where outcome in ('lost', 'failed')`, { fails: `outcome = 'failed'`, are_spent: 'spent' })},
    updated as (
      update ${names.job} as job
      set status = case when ${changed('fails')} then 'failed' else 'queued' end,
        claim_id = null,
        attempt = job.attempt - (not ${changed('are_spent')})::int,
        losses = job.losses + 1,
        wait = case when ${changed('fails')} then 'ready' else 'alone' end,
        run_at = clock_timestamp()
      from changes
      where job.id = any(${CHANGED_IDS})),
    logged as (
      insert into ${names.jobLog} (job_id, entrypoint, attempt, status, claim_id, worker, error)
      select id, entrypoint, attempt, outcome, claim_id, worker, case outcome when 'canceled' then $6::text else $3::text end
      from freed),
    ${countAttempts(names, 'freed')},
    removed as (
      delete from ${names.claim} as claim using stale
      where claim.claim_id = any(array(select claim_id from stale)) and claim.claim_id = stale.claim_id
        and not exists (
          select from unsettled
          where unsettled.claim_id = stale.claim_id and unsettled.id not in (select id from freed))),
    notified as materialized (
      select pg_notify($4::text, '${LATER}') where $5::boolean and exists (select from freed where outcome = 'lost')),
    told as materialized (
      select count(pg_notify($7::text, id::text)) from freed where $5::boolean and awaited and outcome <> 'lost')
    select freed.id, freed.entrypoint, freed.outcome, freed.claim_id, freed.worker
    from freed left join notified on true left join told on true`,
);

/** A job that its worker has left behind. */
export interface DissolvedJob {
  readonly id: string;
  readonly entrypoint: string;
  /** `lost`: queued again, to run alone. `failed`, `exception`: its last attempt is spent, and it is held or dropped. */
  readonly outcome: DissolvedOutcome;
  readonly claimId: string;
  readonly worker: string;
}

const DISSOLVED_OUTCOMES = ['lost', 'failed', 'exception', 'canceled'] as const;
export type DissolvedOutcome = (typeof DISSOLVED_OUTCOMES)[number];

const CANCELED_MESSAGE = 'Canceled; its worker had stopped beating';
const LOST_MESSAGE = 'The worker stopped beating while it ran this job (killed, or its event loop was blocked)';

export interface Dissolution {
  readonly heartbeatTimeout: number;
  readonly notify: boolean;
  /** Claims that are alive, whatever their heartbeat says: those of the process that asks. */
  readonly except?: readonly string[];
}

/** Takes back the jobs of claims that were silent for `heartbeatTimeout` milliseconds. */
export async function dissolveClaims(
  db: Database,
  names: Names,
  { heartbeatTimeout, notify, except = [] }: Dissolution,
): Promise<DissolvedJob[]> {
  const rows = await db.query(dissolveSql(names), [
    heartbeatTimeout,
    except,
    LOST_MESSAGE,
    names.channel,
    notify,
    CANCELED_MESSAGE,
    names.endChannel,
  ]);
  return rows.map((row) => ({
    id: text(row, 'id'),
    entrypoint: text(row, 'entrypoint'),
    outcome: memberOf(DISSOLVED_OUTCOMES, text(row, 'outcome')),
    claimId: text(row, 'claim_id'),
    worker: text(row, 'worker'),
  }));
}

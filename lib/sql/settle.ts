import { assertNever } from '../domain/assert-never.js';
import type { Outcome } from '../domain/outcome.js';
import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { text } from './rows.js';
import { textArray } from './text-array.js';

/** What became of one claimed job. */
export interface Settlement {
  readonly id: string;
  readonly claimId: string;
  readonly outcome: Outcome;
  /** Milliseconds that the handler ran. */
  readonly duration: number;
}

// Locks jobs only, in the order of their ids: settles of jobs-then-claim and dissolves of claim-then-jobs would deadlock.
// Waits for nobody, or one job that a user's transaction holds would stop the settles of all others.
const settleSql = statement(
  (names) => `
    with input as (
      select * from unnest($1::bigint[], $2::uuid[], $3::text[], $4::float8[], $5::text[], $6::text[], $7::float8[])
        as input(id, claim_id, outcome, delay, error, stack, duration)),
    settled as materialized (
      select job.id, job.entrypoint, job.attempt, input.claim_id, input.outcome, input.delay, input.error, input.stack, input.duration
      from input join ${names.job} as job
        on job.id = input.id and job.claim_id = input.claim_id and job.status = 'picked'
      order by job.id
      for update of job skip locked),
    locked as (
      select job.id, job.claim_id
      from input join ${names.job} as job on job.id = input.id and job.claim_id = input.claim_id
      where (select count(*) from settled) < cardinality($1::bigint[])
        and not exists (select from settled where settled.id = job.id)),
    deleted as (
      delete from ${names.job} as job using settled where job.id = settled.id and settled.outcome = 'successful'),
    updated as (
      update ${names.job} as job
      set status = case settled.outcome when 'failed' then 'failed' else 'queued' end,
        claim_id = null,
        attempt = job.attempt - (settled.outcome = 'released')::int,
        wait = case when settled.outcome = 'released' then job.wait when settled.delay > 0 then 'later' else 'ready' end,
        run_at = case settled.outcome when 'retried' then clock_timestamp() + settled.delay * interval '1 ms' else job.run_at end
      from settled
      where job.id = settled.id and settled.outcome <> 'successful'
      returning job.status),
    logged as (
      insert into ${names.jobLog} (job_id, entrypoint, attempt, status, claim_id, worker, error, stack, duration)
      select id, entrypoint, attempt, outcome, claim_id, $8::text, error, stack, duration
      from settled where outcome <> 'released'),
    notified as materialized (
      select pg_notify($9::text, '') where $10::boolean and exists (select from updated where status = 'queued'))
    select settled.id, settled.claim_id, true as written from settled left join notified on true
    union all
    select id, claim_id, false from locked`,
);

export interface SettleContext {
  readonly worker: string;
  readonly notify: boolean;
}

export interface SettledJob {
  readonly id: string;
  readonly claimId: string;
  /** `false`: somebody holds the job locked, so it has to be settled again. */
  readonly written: boolean;
}

/** Writes outcomes, each only while its job still belongs to its claim. What does not come back belongs to others. */
export async function settleJobs(
  db: Database,
  names: Names,
  settlements: readonly Settlement[],
  { worker, notify }: SettleContext,
): Promise<SettledJob[]> {
  const columns = settlements.map(({ outcome }) => columnsOf(outcome));
  const rows = await db.query(settleSql(names), [
    settlements.map(({ id }) => id),
    settlements.map(({ claimId }) => claimId),
    settlements.map(({ outcome }) => outcome.type),
    columns.map(({ delay }) => delay),
    textArray(columns.map(({ error }) => error)),
    textArray(columns.map(({ stack }) => stack)),
    settlements.map(({ duration }) => duration),
    worker,
    names.channel,
    notify,
  ]);
  return rows.map((row) => ({ id: text(row, 'id'), claimId: text(row, 'claim_id'), written: row['written'] === 't' }));
}

interface OutcomeColumns {
  readonly delay: number;
  readonly error: string | null;
  readonly stack: string | null;
}

function columnsOf(outcome: Outcome): OutcomeColumns {
  switch (outcome.type) {
    case 'successful':
    case 'released':
      return { delay: 0, error: null, stack: null };
    case 'failed':
      return { delay: 0, error: outcome.error.message, stack: outcome.error.stack };
    case 'retried':
      return { delay: outcome.delay, error: outcome.error.message, stack: outcome.error.stack };
    default:
      return assertNever(outcome);
  }
}

import { assertNever } from '../domain/assert-never.js';
import { RECORDED_OUTCOMES, type Outcome, type RecordedOutcome } from '../domain/outcome.js';
import type { Database, Row } from './database.js';
import { LATER, statement, type Names } from './names.js';
import { memberOf, text } from './rows.js';
import { countAttempts } from './statistics.js';
import { jsonArray, textArray } from './text-array.js';

/** What became of one claimed job. */
export interface Settlement {
  readonly id: string;
  readonly claimId: string;
  readonly outcome: Outcome;
  /** Milliseconds that the handler ran. */
  readonly duration: number;
  /** Its success was written in a transaction of the handler, so that there is nothing left to settle unless that was undone. */
  readonly isCompleted?: boolean;
}

// What is recorded depends on the row, too.
const outcome = `
        case
          when job.cancel_requested and input.outcome <> 'successful' then 'canceled'
          when job.on_failure = 'drop' and input.outcome = 'failed' then 'exception'
          else input.outcome
        end`;

// Locks jobs only, in the order of their ids: settles of jobs-then-claim and dissolves of claim-then-jobs would deadlock.
// Each is looked up by its id: of a join the planner reads the whole table, as long as that is not large.
// Waits for nobody, or one job that a user's transaction holds would stop the settles of all others.
const settled = ({ job }: Names) => `
    input as (
      select * from unnest(
          $1::bigint[], $2::uuid[], $3::text[], $4::float8[], $5::boolean[], $6::text[], $7::text[], $8::json[], $9::float8[])
        as input(id, claim_id, outcome, delay, is_free, error, stack, result, duration)),
    settled as materialized (
      select job.id, job.entrypoint, job.attempt, job.awaited,
        input.claim_id, input.delay, input.is_free, input.error, input.stack, input.result, input.duration, ${outcome} as outcome
      from (select * from input order by id) as input cross join lateral (
        select id, entrypoint, attempt, awaited, cancel_requested, on_failure from ${job}
        where id = input.id and claim_id = input.claim_id and status = 'picked'
        for update skip locked) as job),
    locked as (
      select job.id, job.claim_id
      from input cross join lateral (
        select id, claim_id from ${job} where id = input.id and claim_id = input.claim_id limit 1) as job
      where (select count(*) from settled) < cardinality($1::bigint[])
        and not exists (select from settled where settled.id = job.id))`;

const settleSql = statement(
  (names) => `
    with ${settled(names)},
    deleted as (
      delete from ${names.job} as job using settled
      where job.id = settled.id and settled.outcome in ('successful', 'exception', 'canceled')),
    updated as (
      update ${names.job} as job
      set status = case settled.outcome when 'failed' then 'failed' else 'queued' end,
        claim_id = null,
        attempt = job.attempt - settled.is_free::int,
        wait = case when settled.outcome = 'released' then job.wait when settled.delay > 0 then 'later' else 'ready' end,
        run_at = case settled.outcome when 'retried' then clock_timestamp() + settled.delay * interval '1 ms' else job.run_at end
      from settled
      where job.id = settled.id and settled.outcome in ('retried', 'failed', 'released')
      returning job.status, job.wait),
    logged as (
      insert into ${names.jobLog} (job_id, entrypoint, attempt, status, claim_id, worker, error, stack, result, duration)
      select id, entrypoint, attempt, outcome, claim_id, $10::text, error, stack, result, duration
      from settled where outcome <> 'released' and (outcome <> 'successful' or awaited or $14::boolean)),
    ${countAttempts(names, 'settled', 'duration')},
    notified as materialized (
      select pg_notify($11::text, case when bool_and(wait = 'ready') then '' else '${LATER}' end)
      from updated where $12::boolean and status = 'queued' having count(*) > 0),
    told as materialized (
      select count(pg_notify($13::text, id::text)) from settled
      where $12::boolean and awaited and outcome not in ('retried', 'released'))
    select settled.id, settled.claim_id, settled.outcome
    from settled left join notified on true left join told on true
    union all
    select id, claim_id, null from locked`,
);

export interface SettleContext {
  readonly worker: string;
  readonly notify: boolean;
  /** Whether the log tells of successful attempts, too. If not, only of those that somebody waits for. @default true */
  readonly logSuccess?: boolean;
}

export interface SettledJob {
  readonly id: string;
  readonly claimId: string;
  /** What was recorded. `undefined`: somebody holds the job locked, so it has to be settled again. */
  readonly outcome: RecordedOutcome | undefined;
}

/** Writes outcomes, each only while its job still belongs to its claim. What does not come back belongs to others. */
export async function settleJobs(
  db: Database,
  names: Names,
  settlements: readonly Settlement[],
  { worker, notify, logSuccess = true }: SettleContext,
): Promise<SettledJob[]> {
  const columns = settlements.map(({ outcome }) => columnsOf(outcome));
  const rows = await db.query(settleSql(names), [
    settlements.map(({ id }) => id),
    settlements.map(({ claimId }) => claimId),
    settlements.map(({ outcome }) => outcome.type),
    columns.map(({ delay }) => delay),
    columns.map(({ isFree }) => isFree),
    textArray(columns.map(({ error }) => error)),
    textArray(columns.map(({ stack }) => stack)),
    jsonArray(columns.map(({ result }) => result)),
    settlements.map(({ duration }) => duration),
    worker,
    names.channel,
    notify,
    names.endChannel,
    logSuccess,
  ]);
  return rows.map((row) => ({ id: text(row, 'id'), claimId: text(row, 'claim_id'), outcome: recorded(row) }));
}

const settledBySql = statement(
  (names) => `
    select from ${names.jobLog}
    where job_id = $1::bigint and claim_id = $2::uuid and status = 'successful' limit 1`,
);

/** Whether this claim has written the success of the job, also within the transaction of `db`. */
export async function isSettledBy(db: Database, names: Names, { id, claimId }: Settlement): Promise<boolean> {
  return (await db.query(settledBySql(names), [id, claimId])).length > 0;
}

function recorded(row: Row): RecordedOutcome | undefined {
  return row['outcome'] == null ? undefined : memberOf(RECORDED_OUTCOMES, row['outcome']);
}

interface OutcomeColumns {
  readonly delay: number;
  readonly isFree: boolean;
  readonly error: string | null;
  readonly stack: string | null;
  readonly result: string | null;
}

const NOTHING: OutcomeColumns = { delay: 0, isFree: false, error: null, stack: null, result: null };

function columnsOf(outcome: Outcome): OutcomeColumns {
  switch (outcome.type) {
    case 'successful':
      return { ...NOTHING, result: outcome.result?.json ?? null, error: outcome.result?.note ?? null };
    case 'released':
      return { ...NOTHING, isFree: true };
    case 'failed':
    case 'canceled':
      return { ...NOTHING, error: outcome.error.message, stack: outcome.error.stack };
    case 'retried': {
      const { delay, isFree = false, error } = outcome;
      return { ...NOTHING, delay, isFree, error: error.message, stack: error.stack };
    }
    default:
      return assertNever(outcome);
  }
}

import { changed, CHANGED_IDS, changesOf } from './changes.js';
import { LATER, statement, type Names } from './names.js';
import { countAttempts } from './statistics.js';

// What is recorded depends on the row, too.
const outcome = `
        case
          when job.cancel_requested and input.outcome <> 'successful' then 'canceled'
          when job.on_failure = 'drop' and input.outcome = 'failed' then 'exception'
          else input.outcome
        end`;

// Waits for nobody, or one job that a user's transaction holds would stop the settles of all others: so nor do settles and dissolves
// deadlock, whatever the order in which they lock.
// Each job is looked up by its id: of a join, or of an `exists`, the planner reads the whole table, as long as that is not large, or was
// empty when it was analysed last.
const settled = ({ job }: Names) => `
    input as not materialized (
      select id, ($16::uuid[])[claim] as claim_id, outcome,
        delay, is_free, error, stack, result, duration
      from unnest(
          $1::bigint[], $2::int[], $3::text[], $4::float8[], $5::boolean[], $6::text[], $7::text[], $8::json[], $9::float8[])
        as input(id, claim, outcome, delay, is_free, error, stack, result, duration)),
    mine as materialized (
      select id, claim_id, entrypoint, attempt, awaited, cancel_requested, on_failure from ${job}
      where id = any($1::bigint[]) and claim_id = any($16::uuid[]) and status = 'picked'
      for update skip locked),
    settled as materialized (
      select *, outcome = 'successful' as succeeds, outcome in ('successful', 'exception', 'canceled') as ends,
        outcome = wanted as as_wanted
      from (
      select job.id, job.entrypoint, job.attempt, job.awaited, input.outcome as wanted,
        job.claim_id, input.delay, input.is_free, input.error, input.stack, input.result, input.duration, ${outcome} as outcome
      from mine as job join input on input.id = job.id and input.claim_id = job.claim_id) as judged)`;

const written = ({ job, jobLog }: Names) => `
    deleted as (
      delete from ${job}
      where id = any(array(select id from settled where ends))),
    ${changesOf('settled where not ends', {
      fails: `outcome = 'failed'`,
      retries: `outcome = 'retried'`,
      are_free: 'is_free',
      delays: 'delay',
    })},
    updated as (
      update ${job} as job
      set status = case when ${changed('fails')} then 'failed' else 'queued' end,
        claim_id = null,
        attempt = job.attempt - ${changed('are_free')}::int,
        wait = case
          when ${changed('delays')} > 0 then 'later'
          when ${changed('fails')} or ${changed('retries')} then 'ready'
          else job.wait end,
        run_at = case
          when ${changed('retries')} then clock_timestamp() + ${changed('delays')} * interval '1 ms'
          else job.run_at end
      from changes
      where job.id = any(${CHANGED_IDS})
      returning job.status, job.wait),
    logged as (
      insert into ${jobLog} (job_id, entrypoint, attempt, status, claim_id, worker, error, stack, result, duration)
      select id, entrypoint, attempt, outcome, claim_id, $10::text, error, stack, result, duration
      from settled where ($14::boolean or not succeeds or awaited) and (succeeds or outcome <> 'released'))`;

const reaped = ({ claim }: Names, ended: string) => `
    reaped as (
      delete from ${claim}
      where claim_id = any(array(
        select claim_id from ${claim} where claim_id = any(${ended}) for update skip locked))
      returning claim_id)`;

// Those that are given as settled and are not. What `answer` has is looked up before anything is joined: else it may never be evaluated,
// and nobody be told.
const exceptions = ({ job }: Names) => `
    select input.id, input.claim_id, settled.outcome,
      case when settled.id is null then (
        select true from ${job} as job where job.id = input.id and job.claim_id = input.claim_id limit 1) end as locked
    from input left join settled on settled.id = input.id and settled.claim_id = input.claim_id
    where (select as_wanted from answer) < cardinality($1::bigint[]) and settled.outcome is distinct from input.outcome
    union all
    select null, claim_id, 'reaped', false from reaped`;

export const settleSql = statement(
  (names) => `
    with ${settled(names).trim()}, ${written(names).trim()},
    ${reaped(names, '$15::uuid[]').trim()},
    ${countAttempts(names, 'settled', { duration: 'duration', succeeds: 'succeeds' })},
    notified as materialized (
      select pg_notify($11::text, case when bool_and(wait = 'ready') then '' else '${LATER}' end)
      from updated where $12::boolean and status = 'queued' having count(*) > 0),
    answer as materialized (
      select count(*) filter (where as_wanted) as as_wanted, (select count(*) from notified) as notified,
        count(pg_notify($13::text, id::text)) filter (
          where awaited and $12::boolean and outcome not in ('retried', 'released')) as told
      from settled)
    ${exceptions(names).trim()}`,
);

// Each row looks up what is told of it in arrays, which are in the order of ids.
const at = 'width_bucket(id, $1::bigint[])';
const successful = `id, claim_id, entrypoint, attempt, awaited, 'successful' as outcome, ($3::float8[])[${at}] as duration`;
const isMine = `claim_id = ($9::uuid[])[($2::int[])[${at}]] and status = 'picked'`;

const lockedThenDeleted = ({ job }: Names) => `
    settled as materialized (
      select ${successful} from ${job}
      where id = any($1::bigint[]) and ${isMine}
      for update skip locked),
    deleted as (
      delete from ${job}
      where id = any(array(select id from settled)))`;

// Reads and writes each row once. It waits for one that is locked, but not for long, and then writes nothing.
const LOCK_TIMEOUT = 20;
const deletedAtOnce = ({ job }: Names) => `
    patience as materialized (select set_config('lock_timeout', '${LOCK_TIMEOUT}', true) as patience),
    settled as (
      delete from ${job}
      where id = any((select $1::bigint[] from patience where patience is not null)::bigint[]) and ${isMine}
      returning ${successful})`;

/** What most jobs come to: successes that return nothing. */
const succeed = (settledSuccesses: (names: Names) => string) =>
  statement(
    (names) => `
    with input as not materialized (
      select id, ($9::uuid[])[claim] as claim_id, 'successful' as outcome from unnest($1::bigint[], $2::int[]) as input(id, claim)),
    ${settledSuccesses(names).trim()},
    logged as (
      insert into ${names.jobLog} (job_id, entrypoint, attempt, status, claim_id, worker, duration)
      select id, entrypoint, attempt, outcome, claim_id, $4::text, duration
      from settled where $7::boolean or awaited),
    ${reaped(names, '$8::uuid[]').trim()},
    ${countAttempts(names, 'settled', { duration: 'duration', succeeds: 'true' })},
    answer as materialized (
      select count(*) as as_wanted, count(pg_notify($6::text, id::text)) filter (where awaited and $5::boolean) as told
      from settled)
    ${exceptions(names).trim()}`,
  );

export const succeedSql = succeed(lockedThenDeleted);
export const succeedAtOnceSql = succeed(deletedAtOnce);

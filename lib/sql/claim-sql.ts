import { quoteLiteral, statement, type Names } from './names.js';
import { milliseconds } from './rows.js';

// Each statement has a step `ids`: an array of what it has locked, which is evaluated once. `in (select … for update skip locked)` can be
// planned to lock more rows than its limit.

/** Of the names that are unnested, those that are not paused. */
const wanted = ({ entrypoint }: Names, arrays: string, columns: string) => `
    wanted as materialized (
      select * from unnest(${arrays}) with ordinality as wanted(${columns}, position)
      where not exists (
        select from ${entrypoint} as entrypoint where entrypoint.name = wanted.name and paused_at is not null))`;
const WITH_POLICIES = ['$1::text[], $2::int[], $7::text[]', 'name, max_attempts, on_failure'] as const;

const mostUrgent = ({ job }: Names, condition: string, ofEach: string, ofAll: string, columns = '') => `
      select ready.id, ready.priority${columns}
      from wanted cross join lateral (
        select id, priority from ${job}
        where entrypoint = wanted.name and status = 'queued' and ${condition}
        order by priority desc, id ${ofEach}) as ready
      order by ready.priority desc, ready.id ${ofAll}`;

/**
 * Each candidate is looked up by its id and locked on the way, until there are enough: of a join the planner reads the whole table,
 * and a lateral that locks by name would lock `limit` rows of each name.
 * The state is looked at again in a `case`, which doesn't imply the predicate of job_ready: with it, statistics of an emptier
 * table make the planner walk that whole index for each candidate.
 */
const lockCandidates = ({ job }: Names, wait: 'ready' | 'alone') => `
    ids as materialized (
      select array(
        select job.id
        from (select id from candidate order by priority desc, id) as candidate cross join lateral (
          select id from ${job}
          where id = candidate.id and case status when 'queued' then wait = '${wait}' end
          for update skip locked) as job
        limit $3::int) as ids)`;

const lockMostUrgent =
  (wait: 'ready' | 'alone', condition = '') =>
  (names: Names) => `${wanted(names, ...WITH_POLICIES)},
    candidate as materialized (${mostUrgent(names, `wait = '${wait}'${condition}`, 'offset $9::int limit $10::int', 'limit $6::int')}),
    ${lockCandidates(names, wait).trim()}`;

const lockSeen = (names: Names) => `${wanted(names, ...WITH_POLICIES)},
    candidate as materialized (
      select id, priority from ${names.job} where id = any($6::bigint[]) and entrypoint in (select name from wanted)),
    ${lockCandidates(names, 'ready').trim()}`;

const readyOfOne = ({ entrypoint }: Names) => `
        where entrypoint = $1::text and status = 'queued' and wait = 'ready' and not exists (
          select from ${entrypoint} as entrypoint where entrypoint.name = $1::text and paused_at is not null)`;

/** Of one entrypoint: what is locked is passed by on the way, however much that is. Candidates are counted only where it comes short. */
const lockAlong = (names: Names) => `
    candidate as materialized (
      select from ${names.job}${readyOfOne(names)}
      order by priority desc, id limit $6::int),
    ids as materialized (
      select array(
        select id from ${names.job}${readyOfOne(names)}
        order by priority desc, id limit $3::int
        for update skip locked) as ids)`;

// What is dead is not looked at again, where a long transaction keeps it from being removed.
const lockBehind = (names: Names) => `
    ids as materialized (
      select array(
        select id from ${names.job}${readyOfOne(names)} and priority = $6::int and id > $9::bigint
        order by id limit $3::int
        for update skip locked) as ids)`;

const insertClaim = ({ claim }: Names) => `
    claim as (
      insert into ${claim} (claim_id, heartbeat_at, job_ids, worker, company)
      select $4::uuid, clock_timestamp(), ids, $5::text, $8::boolean
      from ids where cardinality(ids) > 0)`;

/** Where the policy of a job's entrypoint is found. */
interface Policy {
  readonly maxAttempts: string;
  readonly onFailure: string;
  readonly from: string;
  /** Further columns: the position of the entrypoint among those that are wanted, if it is not the first. */
  readonly position: string;
}

const OF_ONE: Policy = { maxAttempts: '$2::int', onFailure: '$7::text', from: 'where', position: '' };
const OF_MANY: Policy = {
  maxAttempts: 'wanted.max_attempts',
  onFailure: 'wanted.on_failure',
  from: 'from wanted where wanted.name = job.entrypoint and',
  position: ', nullif(wanted.position, 1) as position',
};

/** Of a job that is claimed. What is as usual is left out: to write and to read values is a large part of the work. */
const returning = ({ maxAttempts, position }: Policy) => `
      returning job.id, job.payload, job.headers, job.dedupe_key, ${timeOf('job.created_at')} as created_at,
        case when job.attempt <> 1 or job.priority <> 0 or job.losses <> 0 or job.max_attempts <> ${maxAttempts}
            or job.run_at <> job.created_at
          then array[job.attempt, job.priority, job.losses, job.max_attempts, ${timeOf('job.run_at')}]
        end as details${position}`;

const pick = ({ job }: Names, policy: Policy) => `
      update ${job} as job
      set status = 'picked', claim_id = $4::uuid, attempt = job.attempt + 1,
        max_attempts = coalesce(job.max_attempts, ${policy.maxAttempts}), on_failure = ${policy.onFailure}
      ${policy.from} job.id = any((select ids from ids)::bigint[])${returning(policy)}`;

const timeOf = (column: string) => `floor(${milliseconds(column)})`;

/** The last row tells of the claim. */
const claimSql = (locking: (names: Names) => string, policy: Policy) =>
  statement(
    (names) => `
    with ${locking(names).trim()},
    ${insertClaim(names).trim()},
    claimed as (${pick(names, policy)})
    select null::bigint as candidates, null::float8 as took, * from claimed
    union all
    select (select count(*) from candidate where (select cardinality(ids) from ids) < $3::int),
      (select ${milliseconds('clock_timestamp() - statement_timestamp()')}),
      null, null, null, null, null, null${policy.position && ', null'}`,
  );

export const claimReadySql = claimSql(lockMostUrgent('ready'), OF_MANY);
export const claimOneSql = claimSql(lockAlong, OF_ONE);
export const claimSeenSql = claimSql(lockSeen, OF_MANY);
// Lost in company again and again, a job may be the cause or its victim. Strictly alone it becomes known.
const STRICT_FROM = 2;
export const claimAloneSql = claimSql(
  lockMostUrgent('alone', ` and (losses < ${STRICT_FROM} or not $8::boolean)`),
  OF_MANY,
);
// Nothing else reads what it returns: that is sent as it comes, which is a tenth of all the work.
export const claimBehindSql = statement(
  (names) => `
    with ${lockBehind(names).trim()},
    ${insertClaim(names).trim()}
    ${pick(names, OF_ONE).trim()}`,
);

/** What claims from the head would look at, the most urgent first. A row without a job tells how long that took when there is none. */
export const headSql = statement(
  (names) => `
    with ${wanted(names, '$1::text[]', 'name').trim()},
    head as materialized (${mostUrgent(names, `wait = 'ready'`, 'limit $2::int', 'limit $2::int', ', wanted.name as entrypoint')})
    select head.*, case when exists (select from wanted) then ${milliseconds('clock_timestamp() - statement_timestamp()')} end as took
    from (select) as always left join head on true
    order by priority desc, id`,
);

/** Whether somebody may have his own rules for what is inserted: triggers that change it, or row-level security. */
const hasRules = ({ job }: Names) => `
        select from pg_catalog.pg_class as class
        where oid = ${quoteLiteral(job)}::pg_catalog.regclass and (relrowsecurity or relhastriggers and exists (
          select from pg_catalog.pg_trigger where tgrelid = class.oid and not tgisinternal and tgtype & 2 = 2))`;

const NOW = 'statement_timestamp()';
// If its entrypoint is paused, or the table has such rules, enqueue_plain is asked, and the job is not claimed.
export const insertClaimedSql = statement(
  (names) => `
    with inserted as (
      insert into ${names.job} as job (
        entrypoint, payload, headers, priority, run_at, created_at, status, claim_id, attempt, max_attempts, on_failure)
      select $1::text, $3::json, $9::json, $6::int, ${NOW}, ${NOW}, 'picked', $4::uuid, 1, coalesce($10::int, $2::int), $7::text
      where not exists (
        select from ${names.entrypoint} as entrypoint where entrypoint.name = $1::text and paused_at is not null)
        and not exists (${hasRules(names).trim()})${returning(OF_ONE)}),
    ids as materialized (
      select array(select id from inserted) as ids),
    ${insertClaim(names).trim()}
    select null as queued, * from inserted
    union all
    select
      ${names.schema}.enqueue_plain(
        array[$1::text], array[$3::json], array[$9::json], array[$6::int], array[$10::int], null, null, $11::boolean),
      null, null, null, null, null, null
    where not exists (select from inserted)`,
);

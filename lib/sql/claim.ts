import { compareIds, type ClaimedJob } from '../domain/job.js';
import type { FailurePolicy } from '../domain/failure-policy.js';
import type { Database, Row } from './database.js';
import { statement, type Names } from './names.js';
import { milliseconds, text } from './rows.js';

export interface ClaimRequest {
  readonly claimId: string;
  /** For people: which process this is. */
  readonly worker: string;
  /** Whether the worker has other jobs. */
  readonly company: boolean;
  readonly limit: number;
  /** How many jobs are looked at, more than are wanted, so that rivals' locks don't leave the claim short. */
  readonly candidates: number;
  /** How many are left to rivals, of each entrypoint. @default 0 */
  readonly offset?: number;
  /** How many jobs of one entrypoint are looked at. @default candidates */
  readonly candidatesOfOne?: number;
  readonly entrypoints: readonly ClaimedEntrypoint[];
}

/** What may be claimed. Its policy is written on the row, so that whoever dissolves the claim knows it. */
export interface ClaimedEntrypoint {
  readonly name: string;
  /** For jobs that were enqueued without a number of their own. */
  readonly maxAttempts: number;
  readonly onFailure: FailurePolicy;
}

export interface Won {
  /** The most urgent first. */
  readonly jobs: ClaimedJob[];
}

export interface ClaimResult extends Won {
  /** Whether it came short while rivals held some of what it looked at. */
  readonly crowded: boolean;
  /** Milliseconds of the server. */
  readonly took: number;
}

/** Where the jobs of one entrypoint and priority begin that lie behind an id. */
export interface Place {
  readonly entrypoint: string;
  readonly priority: number;
  readonly after: string;
}

// Each statement has a step `ids`: an array of what it has locked, which is evaluated once. `in (select … for update skip locked)` can be
// planned to lock more rows than its limit.

/**
 * Each candidate is looked up by its id and locked on the way, until there are enough: of a join the planner reads the whole table,
 * and a lateral that locks by name would lock `limit` rows of each name.
 * The state is looked at again in a `case`, which doesn't imply the predicate of job_ready: with it, statistics of an emptier
 * table make the planner walk that whole index for each candidate.
 */
const lockMostUrgent =
  (wait: 'ready' | 'alone', condition = '') =>
  ({ job, entrypoint }: Names) => `
    wanted as materialized (
      select * from unnest($1::text[], $2::int[], $7::text[]) with ordinality as wanted(name, max_attempts, on_failure, position)
      where not exists (
        select from ${entrypoint} as entrypoint where entrypoint.name = wanted.name and paused_at is not null)),
    candidate as materialized (
      select ready.id, ready.priority
      from wanted cross join lateral (
        select id, priority from ${job}
        where entrypoint = wanted.name and status = 'queued' and wait = '${wait}'${condition}
        order by priority desc, id offset $9::int limit $10::int) as ready
      order by ready.priority desc, ready.id limit $6::int),
    ids as materialized (
      select array(
        select job.id
        from (select id from candidate order by priority desc, id) as candidate cross join lateral (
          select id from ${job}
          where id = candidate.id and case status when 'queued' then wait = '${wait}' end
          for update skip locked) as job
        limit $3::int) as ids)`;

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

/** What is as usual is left out: to write and to read values is a large part of the work. */
const pick = ({ job }: Names, { maxAttempts, onFailure, position, from }: Policy) => `
      update ${job} as job
      set status = 'picked', claim_id = $4::uuid, attempt = job.attempt + 1,
        max_attempts = coalesce(job.max_attempts, ${maxAttempts}), on_failure = ${onFailure}
      ${from} job.id = any((select ids from ids)::bigint[])
      returning job.id, job.payload, job.headers, job.dedupe_key, ${timeOf('job.created_at')} as created_at,
        case when job.attempt <> 1 or job.priority <> 0 or job.losses <> 0 or job.max_attempts <> ${maxAttempts}
            or job.run_at <> job.created_at
          then array[job.attempt, job.priority, job.losses, job.max_attempts, ${timeOf('job.run_at')}]
        end as details${position}`;

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

const claimReadySql = claimSql(lockMostUrgent('ready'), OF_MANY);
const claimOneSql = claimSql(lockAlong, OF_ONE);
// Lost in company again and again, a job may be the cause or its victim. Strictly alone it becomes known.
const STRICT_FROM = 2;
const claimAloneSql = claimSql(lockMostUrgent('alone', ` and (losses < ${STRICT_FROM} or not $8::boolean)`), OF_MANY);
// Nothing else reads what it returns: that is sent as it comes, which is a tenth of all the work.
const claimBehindSql = statement(
  (names) => `
    with ${lockBehind(names).trim()},
    ${insertClaim(names).trim()}
    ${pick(names, OF_ONE).trim()}`,
);

/** Wins up to `limit` due jobs and writes the claim that carries their heartbeat, in one statement. */
export async function claimJobs(db: Database, names: Names, request: ClaimRequest): Promise<ClaimResult> {
  const [only, ...others] = request.entrypoints;
  if (only === undefined || others.length > 0) return claimOfMany(db, claimReadySql(names), request);
  return summarized(await db.query(claimOneSql(names), ofOne(request, only, request.candidates)), request);
}

/** As `claimJobs`, of one entrypoint and priority, and only behind an id. */
export async function claimBehind(
  db: Database,
  names: Names,
  request: ClaimRequest,
  { entrypoint, priority, after }: Place,
): Promise<Won> {
  const only = request.entrypoints.find(({ name }) => name === entrypoint);
  if (only === undefined) return { jobs: [] };
  const rows = await db.query(claimBehindSql(names), [...ofOne(request, only, priority), after]);
  return { jobs: toClaimedJobs(rows, { ...request, entrypoints: [only] }) };
}

/** As `claimJobs`, of the jobs that are to start alone; those that were lost twice only where nothing else runs. */
export function claimAlone(db: Database, names: Names, request: ClaimRequest): Promise<ClaimResult> {
  return claimOfMany(db, claimAloneSql(names), request);
}

function ofOne(
  { limit, claimId, worker, company }: ClaimRequest,
  { name, maxAttempts, onFailure }: ClaimedEntrypoint,
  sixth: number,
): unknown[] {
  return [name, maxAttempts, limit, claimId, worker, sixth, onFailure, company];
}

async function claimOfMany(db: Database, sql: string, request: ClaimRequest): Promise<ClaimResult> {
  const rows = await db.query(sql, [
    request.entrypoints.map(({ name }) => name),
    request.entrypoints.map(({ maxAttempts }) => maxAttempts),
    request.limit,
    request.claimId,
    request.worker,
    request.candidates,
    request.entrypoints.map(({ onFailure }) => onFailure),
    request.company,
    request.offset ?? 0,
    request.candidatesOfOne ?? request.candidates,
  ]);
  return summarized(rows, request);
}

function summarized(rows: readonly Row[], request: ClaimRequest): ClaimResult {
  const { candidates = null, took = null } = rows.at(-1) ?? {};
  const jobs = toClaimedJobs(rows.slice(0, -1), request);
  return { jobs, crowded: jobs.length < request.limit && Number(candidates) > jobs.length, took: Number(took) };
}

function toClaimedJobs(rows: readonly Row[], request: ClaimRequest): ClaimedJob[] {
  return rows.map((row) => toClaimedJob(row, request)).sort(byUrgency);
}

/** The most urgent first, of them that with the lowest id. */
function byUrgency(a: ClaimedJob, b: ClaimedJob): number {
  return b.priority - a.priority || compareIds(a.id, b.id);
}

function toClaimedJob(row: Row, { claimId, entrypoints }: ClaimRequest): ClaimedJob {
  const createdAt = Number(text(row, 'created_at'));
  const [attempt = 1, priority = 0, losses = 0, maxAttempts, runAt = createdAt] = numbersOf(row, 'details');
  const entrypoint = entrypoints[Number(row['position'] ?? 1) - 1];
  return {
    id: text(row, 'id'),
    claimId,
    entrypoint: entrypoint?.name ?? '',
    attempt,
    maxAttempts: maxAttempts ?? entrypoint?.maxAttempts ?? 1,
    priority,
    payload: row['payload'] ?? null,
    headers: row['headers'] ?? null,
    dedupeKey: row['dedupe_key'] ?? null,
    losses,
    createdAt,
    runAt,
  };
}

const NONE: readonly number[] = [];

/** Those of an array; none where it is null. */
function numbersOf(row: Row, column: string): readonly number[] {
  const array = row[column];
  return array == null ? NONE : array.slice(1, -1).split(',').map(Number);
}

import type { ClaimedJob } from '../domain/job.js';
import type { FailurePolicy } from '../domain/failure-policy.js';
import type { Database, Row } from './database.js';
import { statement, type Names } from './names.js';
import { dateOf, integerOf, milliseconds, text } from './rows.js';

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

export interface ClaimResult {
  /** The most urgent first. */
  readonly jobs: ClaimedJob[];
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

/**
 * Each candidate is looked up by its id and locked on the way, until there are enough: of a join the planner reads the whole table,
 * and a lateral that locks by name would lock `limit` rows of each name.
 * The state is looked at again in a `case`, which doesn't imply the predicate of job_ready: with it, statistics of an emptier
 * table make the planner walk that whole index for each candidate.
 */
const lockMostUrgent =
  (wait: 'ready' | 'alone', condition = '') =>
  ({ job }: Names) => `
    candidate as materialized (
      select ready.id, ready.priority
      from wanted cross join lateral (
        select id, priority from ${job}
        where entrypoint = wanted.name and status = 'queued' and wait = '${wait}'${condition}
        order by priority desc, id offset $9::int limit $10::int) as ready
      order by ready.priority desc, ready.id limit $6::int),
    locked as materialized (
      select job.id
      from (select id from candidate order by priority desc, id) as candidate cross join lateral (
        select id from ${job}
        where id = candidate.id and case status when 'queued' then wait = '${wait}' end
        for update skip locked) as job
      limit $3::int)`;

/** Of one entrypoint: what is locked is passed by on the way, however much that is. Candidates are counted only where it comes short. */
const lockAlong = ({ job }: Names) => `
    candidate as materialized (
      select from ${job}
      where entrypoint = (select name from wanted) and status = 'queued' and wait = 'ready'
        and $9::int is not null and $10::int is not null
      order by priority desc, id limit $6::int),
    locked as materialized (
      select id from ${job}
      where entrypoint = (select name from wanted) and status = 'queued' and wait = 'ready'
      order by priority desc, id limit $3::int
      for update skip locked)`;

// What is dead is not looked at again, where a long transaction keeps it from being removed.
const lockBehind = ({ job }: Names) => `
    candidate as materialized (select where $6::int is null and $9::int is null and $10::int is null),
    locked as materialized (
      select id from ${job}
      where entrypoint = (select name from wanted) and status = 'queued' and wait = 'ready'
        and priority = $11::int and id > $12::bigint
      order by id limit $3::int
      for update skip locked)`;

/**
 * What is as usual is null: to write and to read values is a large part of the work. The last row tells of the claim.
 * `any(array(…))` is evaluated once; `in (select … for update skip locked)` can be planned to lock more rows than its limit.
 */
const claimSql = (locking: (names: Names) => string) =>
  statement(
    (names) => `
    with wanted as materialized (
      select * from unnest($1::text[], $2::int[], $7::text[]) with ordinality as wanted(name, max_attempts, on_failure, position)
      where not exists (
        select from ${names.entrypoint} as entrypoint where entrypoint.name = wanted.name and paused_at is not null)),
    ${locking(names).trim()},
    claimed as (
      update ${names.job} as job
      set status = 'picked', claim_id = $4::uuid, attempt = job.attempt + 1,
        max_attempts = coalesce(job.max_attempts, wanted.max_attempts), on_failure = wanted.on_failure
      from wanted
      where job.id = any(array(select id from locked)) and wanted.name = job.entrypoint
      returning nullif(wanted.position, 1) as position, job.id, nullif(job.attempt, 1) as attempt, job.priority,
        nullif(job.max_attempts, wanted.max_attempts) as max_attempts, nullif(job.losses, 0) as losses, job.payload, job.headers,
        job.dedupe_key, job.created_at, nullif(job.run_at, job.created_at) as run_at),
    claim as (
      insert into ${names.claim} (claim_id, heartbeat_at, job_ids, worker, company)
      select $4::uuid, clock_timestamp(), array_agg(id order by id), $5::text, $8::boolean
      from claimed having count(*) > 0)
    (select null::bigint as candidates, null::float8 as took, id, position, attempt, max_attempts, nullif(priority, 0) as priority, losses,
        payload, headers, dedupe_key, floor(${milliseconds('created_at')}) as created_at, floor(${milliseconds('run_at')}) as run_at
      from claimed order by claimed.priority desc, id)
    union all
    select (select count(*) from candidate where (select count(*) from claimed) < $3::int),
      (select ${milliseconds('clock_timestamp() - statement_timestamp()')}),
      null, null, null, null, null, null, null, null, null, null, null`,
  );

const claimReadySql = claimSql(lockMostUrgent('ready'));
const claimOneSql = claimSql(lockAlong);
const claimBehindSql = claimSql(lockBehind);
// Lost in company again and again, a job may be the cause or its victim. Strictly alone it becomes known.
const STRICT_FROM = 2;
const claimAloneSql = claimSql(lockMostUrgent('alone', ` and (losses < ${STRICT_FROM} or not $8::boolean)`));

/** Wins up to `limit` due jobs and writes the claim that carries their heartbeat, in one statement. */
export function claimJobs(db: Database, names: Names, request: ClaimRequest): Promise<ClaimResult> {
  return claim(db, (request.entrypoints.length === 1 ? claimOneSql : claimReadySql)(names), request);
}

/** As `claimJobs`, of one entrypoint and priority, and only behind an id. `crowded` is never known. */
export function claimBehind(
  db: Database,
  names: Names,
  request: ClaimRequest,
  { entrypoint, priority, after }: Place,
): Promise<ClaimResult> {
  const entrypoints = request.entrypoints.filter(({ name }) => name === entrypoint);
  return claim(db, claimBehindSql(names), { ...request, entrypoints }, [priority, after]);
}

/** As `claimJobs`, of the jobs that are to start alone; those that were lost twice only where nothing else runs. */
export function claimAlone(db: Database, names: Names, request: ClaimRequest): Promise<ClaimResult> {
  return claim(db, claimAloneSql(names), request);
}

async function claim(
  db: Database,
  sql: string,
  request: ClaimRequest,
  place: readonly unknown[] = [],
): Promise<ClaimResult> {
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
    ...place,
  ]);
  const { candidates = null, took = null } = rows.at(-1) ?? {};
  const jobs = rows.slice(0, -1).map((row) => toClaimedJob(row, request));
  return {
    jobs,
    crowded: jobs.length < request.limit && Number(candidates) > jobs.length,
    took: Number(took),
  };
}

function toClaimedJob(row: Row, { claimId, entrypoints }: ClaimRequest): ClaimedJob {
  const entrypoint = entrypoints[integerOr(row, 'position', 1) - 1];
  const createdAt = dateOf(row, 'created_at');
  return {
    id: text(row, 'id'),
    claimId,
    entrypoint: entrypoint?.name ?? '',
    attempt: integerOr(row, 'attempt', 1),
    maxAttempts: integerOr(row, 'max_attempts', entrypoint?.maxAttempts ?? 1),
    priority: integerOr(row, 'priority', 0),
    payload: row['payload'] ?? null,
    headers: row['headers'] ?? null,
    dedupeKey: row['dedupe_key'] ?? null,
    losses: integerOr(row, 'losses', 0),
    createdAt,
    runAt: row['run_at'] == null ? createdAt : dateOf(row, 'run_at'),
  };
}

function integerOr(row: Row, column: string, usual: number): number {
  return row[column] == null ? usual : integerOf(row, column);
}

import {
  ATTEMPT_STATUSES,
  JOB_STATUSES,
  type AttemptRecord,
  type JobDetails,
  type JobRecord,
  type JobStatus,
} from '../domain/job-record.js';
import type { JobHeaders } from '../domain/job.js';
import type { Database, Row } from './database.js';
import { statement, type Names } from './names.js';
import { dateOf, integerOf, memberOf, milliseconds, text } from './rows.js';

const COLUMNS = `
      job.id, job.entrypoint, job.status, job.priority, job.attempt, job.max_attempts, job.payload, job.headers,
      job.dedupe_key, job.claim_id, job.cancel_requested, last.error as last_error,
      ${milliseconds('job.created_at')} as created_at, ${milliseconds('job.run_at')} as run_at`;

const lastError = ({ jobLog }: Names) => `
    left join lateral (
      select log.error from ${jobLog} as log
      where log.job_id = job.id and log.status in ('retried', 'failed', 'lost')
      order by log.ended_at desc limit 1) as last on true`;

// Each status has an index of its own, or the claims that know its jobs. A condition on the parameter alone lets the planner drop
// what was not asked for.
const newest = (status: JobStatus, source: string) => `(
        select id from ${source}
        where coalesce($1::text = '${status}', true) and status = '${status}'
          and ($2::text is null or entrypoint = $2::text) and ($3::text is null or dedupe_key = $3::text)
          and ($4::bigint is null or id < $4::bigint)
        order by id desc limit $5::int)`;

const picked = ({ job, claim }: Names) =>
  `(select * from ${job} where id = any(array(select unnest(job_ids) from ${claim}))) as claimed`;

const pageSql = statement(
  (names) => `
    with page as materialized (
      select id from (
        ${newest('queued', names.job)}
        union all ${newest('picked', picked(names))}
        union all ${newest('failed', names.job)}) as newest
      order by id desc limit $5::int)
    select ${COLUMNS}
    from page join ${names.job} as job on job.id = page.id ${lastError(names)}
    order by job.id desc`,
);

export interface PageRequest {
  readonly status: JobStatus | undefined;
  readonly entrypoint: string | undefined;
  readonly dedupeKey: string | undefined;
  /** Only jobs of lower ids. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** The newest first. */
export async function readJobs(db: Database, names: Names, request: PageRequest): Promise<JobRecord[]> {
  const { status = null, entrypoint = null, dedupeKey = null, after = null, limit } = request;
  return (await db.query(pageSql(names), [status, entrypoint, dedupeKey, after, limit])).map(toJobRecord);
}

const LOGGED_ATTEMPTS = 100;

// One statement, so that a job that ends at this moment is found either way. JSON's null is a result, SQL's is none.
const jobSql = statement(
  (names) => `
    select ${COLUMNS}, log.attempts
    from (values ($1::bigint)) as wanted(id)
    left join ${names.job} as job on job.id = wanted.id ${lastError(names)}
    left join lateral (
      select json_agg(json_build_object(
        'entrypoint', entrypoint, 'attempt', attempt, 'status', status, 'endedAt', ${milliseconds('ended_at')},
        'duration', duration, 'worker', worker, 'claimId', claim_id, 'error', error, 'stack', stack,
        'result', result, 'hasResult', result is not null) order by ended_at) as attempts
      from (
        select * from ${names.jobLog} as log where log.job_id = wanted.id
        order by log.ended_at desc limit ${LOGGED_ATTEMPTS}) as log) as log on true`,
);

interface LoggedAttempt {
  readonly entrypoint: string;
  readonly attempt: number;
  readonly status: string;
  readonly endedAt: number;
  readonly duration: number | null;
  readonly worker: string | null;
  readonly claimId: string | null;
  readonly error: string | null;
  readonly stack: string | null;
  readonly result: unknown;
  readonly hasResult: boolean;
}

/** `undefined` when neither its row nor its log is there. */
export async function readJob(db: Database, names: Names, id: string): Promise<JobDetails | undefined> {
  const [row] = await db.query(jobSql(names), [id]);
  const logged = JSON.parse(row?.['attempts'] ?? '[]') as readonly LoggedAttempt[];
  const job = row?.['id'] == null ? undefined : toJobRecord(row);
  const attempts = logged.map(toAttemptRecord);
  const entrypoint = job?.entrypoint ?? logged.at(-1)?.entrypoint;
  const status = job?.status ?? attempts.at(-1)?.status;
  return entrypoint === undefined || status === undefined ? undefined : { id, entrypoint, status, job, attempts };
}

function toJobRecord(row: Row): JobRecord {
  return {
    id: text(row, 'id'),
    entrypoint: text(row, 'entrypoint'),
    status: memberOf(JOB_STATUSES, text(row, 'status')),
    priority: integerOf(row, 'priority'),
    attempt: integerOf(row, 'attempt'),
    maxAttempts: row['max_attempts'] == null ? undefined : integerOf(row, 'max_attempts'),
    payload: row['payload'] == null ? undefined : (JSON.parse(row['payload']) as unknown),
    headers: row['headers'] == null ? {} : (JSON.parse(row['headers']) as JobHeaders),
    dedupeKey: row['dedupe_key'] ?? undefined,
    claimId: row['claim_id'] ?? undefined,
    cancelRequested: row['cancel_requested'] === 't',
    createdAt: dateOf(row, 'created_at'),
    runAt: dateOf(row, 'run_at'),
    lastError: row['last_error'] ?? undefined,
  };
}

function toAttemptRecord(logged: LoggedAttempt): AttemptRecord {
  return {
    attempt: logged.attempt,
    status: memberOf(ATTEMPT_STATUSES, logged.status),
    endedAt: new Date(logged.endedAt),
    duration: logged.duration ?? undefined,
    worker: logged.worker ?? undefined,
    claimId: logged.claimId ?? undefined,
    error: logged.error ?? undefined,
    stack: logged.stack ?? undefined,
    result: logged.hasResult ? logged.result : undefined,
  };
}

import type { FailurePolicy } from '../../lib/domain/failure-policy.js';
import type { AttemptStatus, JobStatus } from '../../lib/domain/job-record.js';
import type { Database } from '../../lib/sql/database.js';
import { names } from '../support/index.js';

/** All that the tables say, in values that a model can foresee: times are whole hours from now. */
export interface State {
  readonly jobs: readonly JobState[];
  readonly claims: readonly ClaimState[];
  /** Of each job, the oldest first. */
  readonly log: readonly LogEntry[];
  readonly paused: readonly string[];
}

export interface JobState {
  readonly id: string;
  readonly entrypoint: string;
  readonly priority: number;
  readonly payload: number;
  readonly dedupeKey: string | null;
  readonly status: JobStatus;
  readonly wait: 'ready' | 'later' | 'alone';
  readonly attempt: number;
  readonly maxAttempts: number | null;
  readonly onFailure: FailurePolicy | null;
  readonly losses: number;
  readonly claimId: string | null;
  readonly cancelRequested: boolean;
  /** Hours; not above 0 when its time has come. */
  readonly dueIn: number;
}

export interface ClaimState {
  readonly claimId: string;
  readonly worker: string;
  readonly company: boolean;
  readonly jobIds: readonly string[];
  /** Hours since its last beat. */
  readonly silence: number;
}

export interface LogEntry {
  readonly jobId: string;
  readonly attempt: number;
  readonly status: AttemptStatus;
  readonly claimId: string | null;
  readonly worker: string | null;
}

const hours = (interval: string) => `round(extract(epoch from ${interval}) / 3600)::int`;
const list = (select: string, order: string) =>
  `(select coalesce(json_agg(row order by ${order}), '[]') from (${select}) as row)`;

const JOBS = `
  select id::text, entrypoint, priority, payload, dedupe_key as "dedupeKey", status, wait, attempt, max_attempts as "maxAttempts",
    on_failure as "onFailure", losses, claim_id as "claimId", cancel_requested as "cancelRequested",
    ${hours('run_at - clock_timestamp()')} as "dueIn"
  from ${names.job}`;
const CLAIMS = `
  select claim_id as "claimId", worker, company, array(select unnest(job_ids) order by 1)::text[] as "jobIds",
    ${hours('clock_timestamp() - heartbeat_at')} as silence
  from ${names.claim}`;
const LOG = `select job_id::text as "jobId", attempt, status, claim_id as "claimId", worker from ${names.jobLog} as log`;
const SQL = `
  select json_build_object(
    'jobs', ${list(JOBS, 'id::bigint')},
    'claims', ${list(CLAIMS, '"claimId"')},
    'log', ${list(`${LOG} order by job_id, ended_at`, '"jobId"::bigint')},
    'paused', (select coalesce(json_agg(name order by name), '[]') from ${names.entrypoint} where paused_at is not null)) as state`;

export async function readState(db: Database): Promise<State> {
  const [row] = await db.query(SQL);
  return JSON.parse(row!['state']!) as State;
}

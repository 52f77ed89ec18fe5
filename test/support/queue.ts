import { randomUUID } from 'node:crypto';
import type { FailurePolicy } from '../../lib/domain/failure-policy.js';
import type { Outcome } from '../../lib/domain/outcome.js';
import {
  claimAlone,
  claimBehind,
  claimJobs,
  claimSeen,
  type ClaimResult,
  type Place,
  type Won,
} from '../../lib/sql/claim.js';
import { beatClaims, reapClaims } from '../../lib/sql/claims.js';
import { type DissolvedJob, dissolveClaims } from '../../lib/sql/dissolve.js';
import { type Database, poolDatabase } from '../../lib/sql/database.js';
import { type NewJob, insertJobs } from '../../lib/sql/enqueue.js';
import { insertClaimed } from '../../lib/sql/insert-claimed.js';
import { createNames } from '../../lib/sql/names.js';
import { promoteJobs } from '../../lib/sql/promote.js';
import { settleJobs } from '../../lib/sql/settle.js';
import type { TestDatabase } from './test-database.js';

/** The statements of the queue on one connection, or on a test's pool, with what tests rarely vary filled in. */
export interface Queue {
  add(...jobs: (Partial<NewJob> | string)[]): Promise<string[]>;
  /** Adds a job as claimed, of an entrypoint whose policy is as that of `claim`. */
  addClaimed(job: Partial<NewJob>): Promise<Claim>;
  claim(limit: number, options?: ClaimOptions): Promise<Claim>;
  /** Resolves with the ids that were written, and with `'<id> is locked'`. */
  settle(claim: Claim, outcome: Outcome, ids?: readonly string[]): Promise<string[]>;
  beat(...claims: Claim[]): Promise<ReadonlySet<string>>;
  dissolve(heartbeatTimeout?: number): Promise<DissolvedJob[]>;
  reap(...claims: Claim[]): Promise<string[]>;
  /** Lets in what is due, and what is to run alone and has waited for `suspicion` (an hour). */
  promote(suspicion?: number): Promise<number>;
}

export interface ClaimOptions {
  entrypoints?: string[];
  maxAttempts?: number;
  onFailure?: FailurePolicy;
  /** Whether the worker has other jobs; `true`, so that the first loss of a job spends no attempt. */
  company?: boolean;
  window?: number;
  /** Claims of what is to run alone. */
  alone?: boolean;
  /** Claims only what lies behind it. */
  behind?: Place;
  /** Claims only some of these jobs. */
  seen?: readonly string[];
  /** The label of the worker. */
  as?: string;
}

export interface Claim extends ClaimResult {
  readonly claimId: string;
  readonly ids: readonly string[];
}

export const SUCCESSFUL: Outcome = { type: 'successful' };
export const RELEASED: Outcome = { type: 'released' };
export const FAILED: Outcome = { type: 'failed', error: { message: 'Error: no', stack: 'Error: no\n    at here' } };
export const names = createNames('pgqueue');

const HEARTBEAT_TIMEOUT = 30_000;
const HOUR = 3_600_000;
const NEW_JOB: NewJob = {
  entrypoint: 'work',
  payload: null,
  headers: null,
  priority: 0,
  maxAttempts: null,
  delay: 0,
  runAt: null,
  dedupeKey: null,
  onConflict: 'skip',
};

export const onPool = ({ pool }: Pick<TestDatabase, 'pool'>): Queue => queueOn(poolDatabase(() => pool));

export function queueOn(db: Database): Queue {
  return {
    add: async (...jobs) => {
      const given = jobs.map((job) => ({ ...NEW_JOB, ...(typeof job === 'string' ? { entrypoint: job } : job) }));
      return (await insertJobs(db, names, given, true)).map(({ id }) => id!);
    },
    addClaimed: async (job) => {
      const given = { ...NEW_JOB, ...job };
      const entrypoints = [{ name: given.entrypoint, maxAttempts: 5, onFailure: 'hold' } as const];
      const claimant = { claimId: randomUUID(), worker: 'test', company: true, entrypoints };
      const { jobs } = await insertClaimed(db, names, given, claimant, true);
      return { crowded: false, took: 0, jobs, claimId: claimant.claimId, ids: jobs.map(({ id }) => id) };
    },
    claim: async (
      limit,
      {
        entrypoints = ['work'],
        maxAttempts = 5,
        onFailure = 'hold',
        window = 8,
        as = 'test',
        alone = false,
        company = true,
        behind,
        seen,
      } = {},
    ) => {
      const claimId = randomUUID();
      const wanted = entrypoints.map((name) => ({ name, maxAttempts, onFailure }));
      const request = { claimId, worker: as, company, limit, candidates: limit * window, entrypoints: wanted };
      const claim = alone ? claimAlone : claimJobs;
      const send = (): Promise<Won> => {
        if (seen) return claimSeen(db, names, request, seen);
        return behind ? claimBehind(db, names, request, behind) : claim(db, names, request);
      };
      const result = await send();
      return { crowded: false, took: 0, ...result, claimId, ids: result.jobs.map(({ id }) => id) };
    },
    settle: async ({ claimId, ids }, outcome, some = ids) => {
      const settlements = some.map((id) => ({ id, claimId, outcome, duration: 1 }));
      const { jobs: answers } = await settleJobs(db, names, settlements, { worker: 'test', notify: true });
      return answers.map(({ id, outcome: written }) => (written === undefined ? `${id} is locked` : id));
    },
    beat: async (...claims) => {
      const ids = claims.map(({ claimId }) => claimId);
      return (await beatClaims(db, names, ids)).alive;
    },
    dissolve: (heartbeatTimeout = HEARTBEAT_TIMEOUT) => dissolveClaims(db, names, { heartbeatTimeout, notify: true }),
    promote: (suspicion = HOUR) => promoteJobs(db, names, { suspicion, notify: true }),
    reap: (...claims) =>
      reapClaims(
        db,
        names,
        claims.map(({ claimId }) => claimId),
      ),
  };
}

/** Makes claims (all of them by default) look as if their worker had died an hour ago. */
export async function makeStale(database: TestDatabase, ...claims: { claimId: string }[]): Promise<void> {
  const ids = claims.map(({ claimId }) => claimId);
  await database.query(
    `update pgqueue.claim set heartbeat_at = clock_timestamp() - interval '1 hour'
     where claim_id = any($1::uuid[]) or cardinality($1::uuid[]) = 0`,
    [ids],
  );
}

/** As `makeStale` and a dissolve in one, however fast the worker beats. */
export async function takeAway(database: TestDatabase): Promise<DissolvedJob[]> {
  return poolDatabase(() => database.pool).transaction(async (db) => {
    await db.query(`update pgqueue.claim set heartbeat_at = '-infinity'`);
    return queueOn(db).dissolve();
  });
}

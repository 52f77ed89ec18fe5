import type { Outcome } from '../domain/outcome.js';
import { type Claimant, toClaimedJobs, type Won } from './claim.js';
import { insertClaimedSql } from './claim-sql.js';
import { reapClaims } from './claims.js';
import type { Database } from './database.js';
import { type InsertedJob, type NewJob, OFTEN } from './enqueue.js';
import type { Names } from './names.js';
import { text } from './rows.js';
import { settleJobs } from './settle.js';

const RELEASED: Outcome = { type: 'released' };

export interface InsertedClaimed extends Won {
  readonly inserted: InsertedJob;
  /** Has it queued after all, where its worker has ended meanwhile. */
  giveBack(): Promise<void>;
}

/** Whether a job has neither a time nor a key, so that it could start now. */
export function isDueAtOnce({ delay, runAt, dedupeKey }: NewJob): boolean {
  return delay <= 0 && runAt === null && dedupeKey === null;
}

/**
 * Has a job inserted for the worker of this process, if that would start it at once. If not, it returns `undefined` and calls nothing.
 * The claimant has one entrypoint, that of the job.
 */
export type HandOver = (
  entrypoint: string,
  insert: (claimant: Claimant) => Promise<InsertedClaimed>,
) => Promise<InsertedClaimed> | undefined;

/** Inserts a job that is due at once together with the claim of it, in one statement. Where its entrypoint is paused it wins nothing. */
export async function insertClaimed(
  db: Database,
  names: Names,
  job: NewJob,
  claimant: Claimant,
  notify: boolean,
): Promise<InsertedClaimed> {
  const { claimId, worker, company, entrypoints } = claimant;
  const [{ maxAttempts, onFailure } = {}] = entrypoints;
  const claim = [claimId, worker, job.priority, onFailure, company];
  const values = [job.entrypoint, maxAttempts, job.payload, ...claim, job.headers, job.maxAttempts, notify];
  const rows = await db.query(insertClaimedSql(names), values, OFTEN);
  const [{ queued = null, ...row } = {}] = rows;
  const id = queued ?? text(row, 'id');
  const jobs = queued === null ? toClaimedJobs(rows, claimant) : [];
  const released = jobs.map((won) => ({ id: won.id, claimId, outcome: RELEASED, duration: 0 }));
  return {
    jobs,
    inserted: { id, outcome: 'inserted', index: 0 },
    giveBack: async () => {
      await settleJobs(db, names, released, { worker, notify });
      await reapClaims(db, names, [claimId]);
    },
  };
}

import { compareIds, type ClaimedJob } from '../domain/job.js';
import type { FailurePolicy } from '../domain/failure-policy.js';
import { claimAloneSql, claimBehindSql, claimSeenSql, claimOneSql, claimReadySql } from './claim-sql.js';
import { arrayLiteral } from './array.js';
import type { Database, Row } from './database.js';
import type { Names } from './names.js';
import { text } from './rows.js';

/** Who claims. */
export interface Claimant {
  readonly claimId: string;
  /** For people: which process this is. */
  readonly worker: string;
  /** Whether the worker has other jobs. */
  readonly company: boolean;
  /** Of which the jobs may be. */
  readonly entrypoints: readonly ClaimedEntrypoint[];
}

export interface ClaimRequest extends Claimant {
  readonly limit: number;
  /** How many jobs are looked at, more than are wanted, so that rivals' locks don't leave the claim short. */
  readonly candidates: number;
  /** How many are left to rivals, of each entrypoint. @default 0 */
  readonly offset?: number;
  /** How many jobs of one entrypoint are looked at. @default candidates */
  readonly candidatesOfOne?: number;
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

/** As `claimJobs`, of jobs that were seen in the queue. Some of them may be gone since. */
export async function claimSeen(
  db: Database,
  names: Names,
  request: ClaimRequest,
  ids: readonly string[],
): Promise<Won> {
  const rows = await db.query(claimSeenSql(names), ofMany(request, arrayLiteral(ids)));
  return summarized(rows, request);
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
  const { candidates, offset = 0, candidatesOfOne = candidates } = request;
  return summarized(await db.query(sql, [...ofMany(request, candidates), offset, candidatesOfOne]), request);
}

function ofMany({ entrypoints, limit, claimId, worker, company }: ClaimRequest, sixth: unknown): unknown[] {
  return [
    entrypoints.map(({ name }) => name),
    entrypoints.map(({ maxAttempts }) => maxAttempts),
    limit,
    claimId,
    worker,
    sixth,
    entrypoints.map(({ onFailure }) => onFailure),
    company,
  ];
}

function summarized(rows: readonly Row[], request: ClaimRequest): ClaimResult {
  const { candidates = null, took = null } = rows.at(-1) ?? {};
  const jobs = toClaimedJobs(rows.slice(0, -1), request);
  return { jobs, crowded: jobs.length < request.limit && Number(candidates) > jobs.length, took: Number(took) };
}

export function toClaimedJobs(rows: readonly Row[], request: Claimant): ClaimedJob[] {
  return rows.map((row) => toClaimedJob(row, request)).sort(byUrgency);
}

/** The most urgent first, of them that with the lowest id. */
function byUrgency(a: ClaimedJob, b: ClaimedJob): number {
  return b.priority - a.priority || compareIds(a.id, b.id);
}

function toClaimedJob(row: Row, { claimId, entrypoints }: Claimant): ClaimedJob {
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

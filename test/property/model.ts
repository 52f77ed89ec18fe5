import type { AttemptStatus } from '../../lib/domain/job-record.js';
import type { JobState, LogEntry, State } from './state.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** `runAt`: in hours of the model. */
export type ModelJob = Mutable<Omit<JobState, 'dueIn'>> & { runAt: number };

export interface ModelClaim {
  readonly claimId: string;
  readonly worker: string;
  readonly company: boolean;
  /** What its worker knows of its jobs, however long ago they were lost. */
  readonly jobs: readonly { readonly id: string; readonly attempt: number; readonly maxAttempts: number }[];
  /** Whether its row is there. */
  isKept: boolean;
  silence: number;
}

/** What somebody's transaction has locked and not yet committed. */
export interface OpenTransaction {
  readonly ids: ReadonlySet<string>;
  commit(): void;
}

/** What the queue should be like. Times are hours that pass when a test says so. */
export class Model {
  hour = 0;
  /** Of every job that was enqueued, in the order of their ids. */
  readonly ids: string[] = [];
  jobs = new Map<string, ModelJob>();
  /** All that there were, the oldest first. */
  readonly claims: ModelClaim[] = [];
  claimsBegun = 0;
  readonly log: LogEntry[] = [];
  readonly paused = new Set<string>();
  open: OpenTransaction | undefined;

  /** @param seen how often something has happened */
  constructor(readonly seen = new Map<string, number>()) {}

  /** Which job has a key. */
  holderOf(entrypoint: string, dedupeKey: string | null): ModelJob | undefined {
    return [...this.jobs.values()].find(
      (job) => job.entrypoint === entrypoint && job.dedupeKey === dedupeKey && job.status !== 'failed',
    );
  }

  jobsOf(claimId: string): ModelJob[] {
    return byId([...this.jobs.values()].filter((job) => job.claimId === claimId));
  }

  get keptClaims(): ModelClaim[] {
    return this.claims.filter(({ isKept }) => isKept);
  }

  isLocked(id: string): boolean {
    return this.open?.ids.has(id) ?? false;
  }

  record({ id, attempt }: ModelJob, status: AttemptStatus, by?: { claimId: string; worker: string }): void {
    this.log.push({ jobId: id, attempt, status, claimId: by?.claimId ?? null, worker: by?.worker ?? null });
  }

  /** What the tables should say. */
  state(): State {
    return {
      jobs: byId([...this.jobs.values()]).map(({ runAt, ...job }) => ({ ...job, dueIn: runAt - this.hour })),
      claims: this.keptClaims
        .map(({ claimId, worker, company, jobs, silence }) => {
          return { claimId, worker, company, jobIds: byId(jobs).map(({ id }) => id), silence };
        })
        .toSorted((a, b) => a.claimId.localeCompare(b.claimId)),
      log: this.log.toSorted((a, b) => Number(a.jobId) - Number(b.jobId)),
      paused: [...this.paused].toSorted(),
    };
  }
}

export const byId = <T extends { readonly id: string }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => Number(a.id) - Number(b.id));

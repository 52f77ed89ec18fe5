import type { Client } from 'pg';

export interface ClaimedJob {
  readonly id: string;
  readonly payload: unknown;
}

/** How one claimer comes by jobs and ends them, on a connection of its own. It has one batch at a time. */
export interface Strategy {
  /** Where it is told that there may be something for it. */
  readonly channel: string;
  /** Resolves with up to so many jobs, which nobody else gets until they are settled. */
  claim(batch: number): Promise<readonly ClaimedJob[]>;
  /** Ends all jobs of the last claim. */
  settle(ids: readonly string[]): Promise<unknown>;
  /** Says that the claimer lives. */
  beat(): Promise<unknown>;
  /** Takes back what claimers have that were silent for so many milliseconds. */
  recover(lease: number): Promise<unknown>;
  /** Says that the claimer, who has no jobs left, wants no more. */
  leave(): Promise<unknown>;
}

export interface StrategyDefinition {
  /** What it needs beside the table of jobs. */
  readonly tables: string;
  create(client: Client): Strategy;
}

/** The same for all. Those who mark a job as taken write a uuid to it. */
export const JOB_TABLE = `
  create table if not exists job (
    id bigint generated always as identity primary key,
    owner uuid,
    payload json);
  create index if not exists job_ready on job (id) where owner is null`;

export const JOB_CHANNEL = 'job';

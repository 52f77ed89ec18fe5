import type { Client } from 'pg';
import type { RunSpec } from '../plan/run-spec.js';
import type { System } from '../systems/system.js';

/** What a scenario measures with. */
export interface Ground {
  readonly system: System;
  readonly spec: RunSpec;
  readonly url: string;
  /** A connection of the benchmark's own to the database of the run; there is none on Redis. */
  readonly admin: Client | undefined;
}

export type Measurement = Readonly<Record<string, number>>;

export type Scenario = (ground: Ground) => Promise<Measurement>;

/** A number of the run's parameters. */
export function parameter({ spec }: Ground, name: string): number {
  const value = spec.parameters[name];
  if (value === undefined) throw new Error(`The scenario ${spec.scenario} needs the parameter ${name}`);
  return value;
}

const AT_ONCE = 5_000;

/** Enqueues jobs in calls of up to 5,000. */
export async function fill({ system }: Ground, jobs: number, like: (index: number) => object = () => ({})) {
  for (let from = 0; from < jobs; from += AT_ONCE) {
    const count = Math.min(AT_ONCE, jobs - from);
    await system.enqueueMany(Array.from({ length: count }, (_, index) => like(from + index)));
  }
}

/** So that what was written before costs nobody later, and planners know the tables as they would after some minutes. */
export async function settleDown({ admin }: Ground): Promise<void> {
  await admin?.query('vacuum analyze');
  await admin?.query('checkpoint');
}

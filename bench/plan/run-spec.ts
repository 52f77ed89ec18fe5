import type { GrowthCase } from '../scenarios/growth.js';
import type { SCENARIOS } from '../scenarios/index.js';

/** A queue in one configuration. */
export interface Contestant {
  readonly label: string;
  /** The name of its adapter. */
  readonly system: string;
  readonly options: object;
  readonly backend: 'postgres' | 'redis';
}

/** One measurement, which a process of its own takes. */
export interface RunSpec {
  readonly scenario: keyof typeof SCENARIOS;
  readonly case?: GrowthCase;
  readonly contestant: Contestant;
  readonly parameters: Readonly<Record<string, number>>;
}

export interface Metric {
  readonly key: string;
  readonly title: string;
  readonly better: 'more' | 'less';
}

/** Runs whose numbers are compared with each other, and are therefore taken in turns. */
export interface Group {
  readonly id: string;
  readonly title: string;
  readonly metrics: readonly Metric[];
  readonly rounds: number;
  /** All at the same time: they hardly do anything. */
  readonly together?: boolean;
  /** By name; the first is what the others are compared with. */
  readonly runs: Readonly<Record<string, RunSpec>>;
}

import type { Contestant } from './run-spec.js';

const CASES: Record<string, string> = {
  small: 'a small queue',
  queued: 'many queued',
  later: 'most due later',
  laterUrgent: 'most due later and more urgent',
  names: '1,000 entrypoints, one handled',
  running: 'thousands running',
  pinned: 'a pinned xmin',
  one: '1 worker in 1 process',
  two: '2 workers in 2 processes',
  thirtyTwo: '32 workers in 8 processes',
};

/** What a run is called in tables. */
export function labelOf(name: string, contestant: Contestant | undefined): string {
  return CASES[name] ?? contestant?.label ?? name;
}

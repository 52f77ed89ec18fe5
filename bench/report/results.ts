import type { Group } from '../plan/run-spec.js';
import { labelOf } from '../plan/labels.js';
import type { Measurements } from '../rounds.js';
import { type Summary, summarise } from './statistics.js';

export interface RunResult {
  readonly name: string;
  readonly label: string;
  /** By the key of the metric. A run that failed in all rounds has none. */
  readonly metrics: Readonly<Record<string, Summary>>;
  readonly samples: Measurements[string];
}

export interface GroupResult {
  readonly id: string;
  readonly title: string;
  readonly metrics: Group['metrics'];
  readonly runs: readonly RunResult[];
}

/** What the JSON file holds. */
export interface Results {
  readonly startedAt: string;
  readonly quick: boolean;
  /** Processor, versions, … in words. */
  readonly machine: readonly string[];
  readonly groups: readonly GroupResult[];
}

export function resultOf(group: Group, measurements: Measurements): GroupResult {
  const { id, title, metrics } = group;
  const runs = Object.entries(measurements).map(([name, samples]) => ({
    name,
    label: labelOf(name, group.runs[name]?.contestant),
    metrics: Object.fromEntries(
      samples.length === 0 ? [] : metrics.map(({ key }) => [key, summarise(samples.map((each) => each[key] ?? NaN))]),
    ),
    samples,
  }));
  return { id, title, metrics, runs };
}

/** The median of a run, named `group.run.metric`; NaN when there is none. */
export function medianOf({ groups }: Pick<Results, 'groups'>, path: string): number {
  const [group, run, metric = ''] = path.split('.');
  const result = groups.find(({ id }) => id === group)?.runs.find(({ name }) => name === run);
  return result?.metrics[metric]?.median ?? NaN;
}

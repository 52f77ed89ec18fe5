import type { Metric } from '../plan/run-spec.js';
import { barsTable } from './bars.js';
import type { GroupResult, Results, RunResult } from './results.js';

/** The whole report. */
export function markdownOf(results: Results): string {
  const { machine, groups, quick } = results;
  const head = `${machine.join(' · ')}${quick ? '\n\nA quick run: small numbers, few rounds. Some of it lasts for 0.2 seconds, so a bar that is missed here says little.' : ''}`;
  const tables = groups.map((group) => `## ${group.title}\n\n${tableOf(group)}`);
  return ['# Benchmark', head, ...tables, '## Bars', barsTable(results)].join('\n\n');
}

function tableOf({ metrics, runs }: GroupResult): string {
  const [first] = runs;
  const titles = metrics.flatMap(({ title }) => [title, 'min – max', 'ratio']);
  const rows = runs.map((run) => [run.label, ...metrics.flatMap((metric) => cellsOf(metric, run, first))]);
  return [['', ...titles], ['---', ...titles.map(() => '---:')], ...rows].map(rowOf).join('\n');
}

const rowOf = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** Its median, its spread, and its ratio to the first run of the group. */
function cellsOf({ key }: Metric, { metrics }: RunResult, first: RunResult | undefined): string[] {
  const summary = metrics[key];
  if (summary === undefined) return ['failed', '', ''];
  const { median, min, max } = summary;
  const reference = first?.metrics[key]?.median ?? NaN;
  return [textOf(median), `${textOf(min)} – ${textOf(max)}`, (median / reference).toFixed(2)];
}

export function textOf(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value >= 10 ? 1 : 2);
}

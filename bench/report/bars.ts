import { medianOf, type Results } from './results.js';

/** A ratio of two medians of one run, or a number by itself, and what it is to be. */
interface Bar {
  readonly what: string;
  /** As `group.run.metric`. */
  readonly of: string;
  /** @default 1 */
  readonly to?: string;
  readonly must: number;
  readonly aim?: number;
  /** @default 'atLeast' */
  readonly is?: 'atMost';
}

const ATMOST = { is: 'atMost' } as const;
const GROWN = ['queued', 'later', 'laterUrgent', 'names', 'running'].map((name): Bar => ({
  what: `growth (${name}) : the small case`,
  of: `growth.${name}.rate`,
  to: 'growth.small.rate',
  must: 0.85,
  aim: 0.95,
}));

const DRAIN = 'drain.pgqueue.rate';
const NOTHING_KEPT = 'drain.pgqueueNothingKept.rate';
const ENQUEUE = 'enqueue.pgqueue.rate';

function drainBars(how: string, of: string, peers: readonly (readonly [string, string, number, number?])[]): Bar[] {
  return peers.map(([peer, run, must, aim]) => ({
    what: `drain, ${how} : ${peer}`,
    of,
    to: `drain.${run}.rate`,
    must,
    ...(aim === undefined ? {} : { aim }),
  }));
}

const BARS: readonly Bar[] = [
  ...drainBars('no outcomes kept', NOTHING_KEPT, [
    ['graphile-worker, 500', 'graphile', 1.8],
    ['graphile-worker, 2000', 'graphile2000', 1.8],
    ['pg-boss', 'pgBoss', 3.5],
    ['bare SQL', 'bare', 0.75, 0.9],
  ]),
  ...drainBars('outcomes kept', DRAIN, [
    ['graphile-worker, 500', 'graphile', 1.35, 1.8],
    ['graphile-worker, 2000', 'graphile2000', 1.35, 1.8],
  ]),
  {
    what: 'drain, forRoot() : graphile-worker, 10 slots',
    of: 'drain.pgqueueDefault.rate',
    to: 'drain.graphilePlain.rate',
    must: 20,
    aim: 35,
  },
  { what: 'single enqueue : graphile-worker', of: ENQUEUE, to: 'enqueue.graphile.rate', must: 5 },
  { what: 'single enqueue : pg-boss', of: ENQUEUE, to: 'enqueue.pgBoss.rate', must: 4 },
  { what: 'single enqueue : BullMQ on Redis', of: ENQUEUE, to: 'enqueue.bullmqRedis.rate', must: 0, aim: 1 },
  { what: 'bulk enqueue : bare SQL', of: 'bulk.pgqueue.rate', to: 'bulk.bare.rate', must: 0.9 },
  {
    what: 'latency p50 : graphile-worker',
    of: 'latency.pgqueue.p50',
    to: 'latency.graphile.p50',
    must: 0.7,
    ...ATMOST,
  },
  {
    what: 'latency p99 : graphile-worker',
    of: 'latency.pgqueue.p99',
    to: 'latency.graphile.p99',
    must: 0.8,
    ...ATMOST,
  },
  { what: 'idle, statements a minute', of: 'idle.pgqueueDefault.statements', must: 20, aim: 6, ...ATMOST },
  ...GROWN,
  {
    what: 'growth (pinned xmin) : the small case',
    of: 'pinned.pinned.rate',
    to: 'pinned.small.rate',
    must: 0.85,
    aim: 0.95,
  },
  { what: '32 workers in 8 processes : 2', of: 'contention.thirtyTwo.rate', to: 'contention.two.rate', must: 0.8 },
  { what: '32 workers: least share of an even one', of: 'contention.thirtyTwo.leastShare', must: 1 / 3 },
  { what: '2 processes : 1', of: 'contention.two.rate', to: 'contention.one.rate', must: 1 },
];

/** The bars that the results can answer, as a table. */
export function barsTable(results: Pick<Results, 'groups'>): string {
  const rows = BARS.flatMap((bar) => {
    const value = medianOf(results, bar.of) / (bar.to === undefined ? 1 : medianOf(results, bar.to));
    return Number.isNaN(value)
      ? []
      : [`| ${bar.what} | ${value.toFixed(2)} | ${wantedOf(bar)} | ${verdictOf(bar, value)} |`];
  });
  return ['| ratio of medians | is | must (aim) | |', '|---|---:|---:|---|', ...rows].join('\n');
}

function wantedOf({ must, aim, is }: Bar): string {
  if (must === 0) return aim === undefined ? '' : `(${aim})`;
  const sign = is === 'atMost' ? '≤' : '≥';
  return `${sign} ${Number(must.toFixed(2))}${aim === undefined ? '' : ` (${aim})`}`;
}

function verdictOf({ must, aim, is }: Bar, value: number): string {
  const reaches = (wanted: number) => (is === 'atMost' ? value <= wanted : value >= wanted);
  if (aim !== undefined && reaches(aim)) return 'aim';
  if (must === 0) return '';
  return reaches(must) ? 'yes' : 'NO';
}

import type { GrowthCase } from '../scenarios/growth.js';
import { CONTESTANTS, type ContestantName } from './contestants.js';
import type { Group, Metric, RunSpec } from './run-spec.js';
import type { Sizes } from './sizes.js';
import { recovery, strategies } from './strategies.js';

const RATE: Metric = { key: 'rate', title: 'jobs/s', better: 'more' };
const WARM_UP = 3_000;
const SLOW_WARM_UP = 500;
const GROWTH_WARM_UP = 1_000;
/** For each job that is measured, so that V8 has compiled what runs: its threads take a processor from the database. */
const LATENCY_WARM_UP = 3;
/** Before the rate of a worker that lives on is measured. */
const BUSY_FOR = 1_000;
/** Of all processes together: so that V8 has compiled what runs in each of them. */
const FLEET_WARM_UP = 100_000;
const CALLERS = 10;
const SLOW: readonly ContestantName[] = ['graphilePlain', 'bullmqPostgres'];
const NAMES = Object.keys(CONTESTANTS) as ContestantName[];
/** It makes no difference to a drain who has enqueued. */
const ALL = NAMES.filter((name) => name !== 'pgqueueApart');
/** Where slots and batches don't matter. */
const ONE_EACH: readonly ContestantName[] = ['pgqueue', 'graphile', 'pgBoss', 'bullmqPostgres', 'bullmqRedis', 'bare'];

export function planOf(sizes: Sizes): readonly Group[] {
  return [
    drains(sizes),
    enqueues(sizes),
    bulks(sizes),
    latencies(sizes),
    idles(sizes),
    growth(sizes),
    pinned(sizes),
  ].concat(names(sizes), contention(sizes), strategies(sizes), recovery(sizes));
}

type Parameters = RunSpec['parameters'];

function runsOf(
  scenario: RunSpec['scenario'],
  contestants: readonly ContestantName[],
  parameters: (contestant: ContestantName) => Parameters,
): Record<string, RunSpec> {
  return Object.fromEntries(
    contestants.map((name) => [name, { scenario, contestant: CONTESTANTS[name], parameters: parameters(name) }]),
  );
}

function drains({ rounds, drain, longestDrain }: Sizes): Group {
  const runs = runsOf('drain', ALL, (name) => ({
    jobs: drain,
    longest: longestDrain,
    warmUp: SLOW.includes(name) ? SLOW_WARM_UP : WARM_UP,
  }));
  return { id: 'drain', title: 'Drain', metrics: [RATE], rounds, runs };
}

function enqueues({ rounds, enqueueFor }: Sizes): Group {
  const parameters = { callers: CALLERS, duration: enqueueFor, warmUp: enqueueFor / 2 };
  const title = `Enqueue one by one, ${CALLERS} callers`;
  return { id: 'enqueue', title, metrics: [RATE], rounds, runs: runsOf('enqueue', ONE_EACH, () => parameters) };
}

function bulks({ rounds, bulk }: Sizes): Group {
  const runs = runsOf('bulk', ONE_EACH, () => ({ jobs: bulk, warmUp: bulk / 2 }));
  return { id: 'bulk', title: 'Enqueue 5,000 a call', metrics: [RATE], rounds, runs };
}

function latencies({ rounds, latencies }: Sizes): Group {
  const metrics: Metric[] = [
    { key: 'p50', title: 'p50, ms', better: 'less' },
    { key: 'p99', title: 'p99, ms', better: 'less' },
  ];
  const contestants: ContestantName[] = [...ONE_EACH, 'pgqueueApart', 'graphilePlain'];
  const runs = runsOf('latency', contestants, () => ({ jobs: latencies, warmUp: latencies * LATENCY_WARM_UP }));
  return { id: 'latency', title: 'Latency, enqueue to start', metrics, rounds, runs };
}

function idles({ idleFor }: Sizes): Group {
  const metrics: Metric[] = [{ key: 'statements', title: 'statements/min', better: 'less' }];
  const contestants: ContestantName[] = [
    'pgqueueDefault',
    'graphile',
    'graphilePlain',
    'pgBoss',
    'bullmqPostgres',
    'bullmqRedis',
  ];
  const runs = runsOf('idle', contestants, () => ({ duration: idleFor, warmUp: idleFor / 6 }));
  return { id: 'idle', title: 'Idle', metrics, rounds: 1, together: true, runs };
}

function growthRun(name: GrowthCase, contestant: ContestantName, sizes: Sizes): RunSpec {
  const parameters = {
    jobs: sizes.growthJobs,
    size: sizes.growthSize,
    running: sizes.running,
    warmUp: GROWTH_WARM_UP,
  };
  return { scenario: 'growth', case: name, contestant: CONTESTANTS[contestant], parameters };
}

function growth(sizes: Sizes): Group {
  const cases: GrowthCase[] = ['small', 'queued', 'later', 'laterUrgent', 'names', 'running'];
  const runs = Object.fromEntries(cases.map((name) => [name, growthRun(name, 'pgqueue', sizes)]));
  const title = 'Growth of nestjs-pgqueue';
  return { id: 'growth', title, metrics: [RATE], rounds: sizes.growthRounds, runs };
}

function pinned({ pinnedJobs, pinnedFor }: Sizes): Group {
  const run = (pinned: 0 | 1, busyFor: number): RunSpec => ({
    scenario: 'pinned',
    contestant: CONTESTANTS.pgqueue,
    parameters: { jobs: pinnedJobs, pinned, busyFor, warmUp: GROWTH_WARM_UP },
  });
  const runs = { small: run(0, BUSY_FOR), pinned: run(1, pinnedFor) };
  return { id: 'pinned', title: 'Growth under a pinned xmin', metrics: [RATE], rounds: 1, runs };
}

/** The one case of growth that a peer is known for. */
function names(sizes: Sizes): Group {
  const small = { ...sizes, growthJobs: sizes.peerGrowthJobs };
  const runs = { small: growthRun('small', 'graphile', small), names: growthRun('names', 'graphile', small) };
  return { id: 'names', title: 'Growth of graphile-worker', metrics: [RATE], rounds: sizes.growthRounds, runs };
}

function contention({ growthRounds, contention }: Sizes): Group {
  const fleet = (processes: number, claimers: number): RunSpec => ({
    scenario: 'contention',
    contestant: CONTESTANTS.pgqueue,
    parameters: { jobs: contention, warmUp: FLEET_WARM_UP, processes, claimers },
  });
  const runs = { one: fleet(1, 1), two: fleet(2, 2), thirtyTwo: fleet(8, 32) };
  const metrics: Metric[] = [RATE, { key: 'leastShare', title: 'least share', better: 'more' }];
  return { id: 'contention', title: 'Contention', metrics, rounds: growthRounds, runs };
}

import type { Contestant, Group, Metric, RunSpec } from './run-spec.js';
import type { Sizes } from './sizes.js';

const BATCH = 50;
const PROCESSES = 8;
const RECOVERING_PROCESSES = 4;
const WARM_UP = 500;
/** Where nobody dies. */
const LONG_LEASE = 30_000;
/** Leases after which what is still stuck is taken for lost. */
const PATIENCE = 2;

const STRATEGIES = {
  skipLocked: 'SKIP LOCKED',
  blocking: 'blocking FOR UPDATE',
  advisory: 'advisory locks',
  assigned: 'a coordinator',
} as const;

type StrategyName = keyof typeof STRATEGIES;

function contestant(strategy: StrategyName, label: string, lease: number): Contestant {
  return { label, system: 'strategy', options: { strategy, batch: BATCH, lease }, backend: 'postgres' };
}

/** Ways to hand out jobs, in bare SQL on the same table, by numbers of claimers. */
export function strategies(sizes: Sizes): Group {
  const metrics: Metric[] = [
    { key: 'rate', title: 'jobs/s', better: 'more' },
    { key: 'leastShare', title: 'least share', better: 'more' },
    { key: 'greatestShare', title: 'greatest share', better: 'less' },
  ];
  const fleet = (strategy: StrategyName, claimers: number): RunSpec => ({
    scenario: 'strategies',
    contestant: contestant(strategy, `${claimers} × ${STRATEGIES[strategy]}`, LONG_LEASE),
    parameters: {
      jobs: sizes.strategyJobs,
      warmUp: WARM_UP,
      processes: Math.min(claimers, PROCESSES),
      claimers,
      coordinators: strategy === 'assigned' ? 1 : 0,
    },
  });
  const names = Object.keys(STRATEGIES) as StrategyName[];
  const runs = Object.fromEntries(
    sizes.strategyClaimers.flatMap((claimers) => names.map((name) => [`${name}${claimers}`, fleet(name, claimers)])),
  );
  return { id: 'strategies', title: 'Claim strategies', metrics, rounds: sizes.strategyRounds, runs };
}

/** How long jobs are stuck when the process that had them is killed, or stands still. */
export function recovery(sizes: Sizes): Group {
  const patience = sizes.lease * PATIENCE;
  const metrics: Metric[] = [
    { key: 'killed', title: 'killed, ms', better: 'less' },
    { key: 'frozen', title: `frozen, ms (${patience}: not back by then)`, better: 'less' },
  ];
  const loss = (strategy: StrategyName, label: string, coordinators: number, ofCoordinator: 0 | 1): RunSpec => ({
    scenario: 'recovery',
    contestant: contestant(strategy, label, sizes.lease),
    parameters: {
      jobs: BATCH,
      processes: RECOVERING_PROCESSES,
      lease: sizes.lease,
      patience,
      coordinators,
      ofCoordinator,
    },
  });
  const runs = {
    skipLocked: loss('skipLocked', STRATEGIES.skipLocked, 0, 0),
    blocking: loss('blocking', STRATEGIES.blocking, 0, 0),
    advisory: loss('advisory', STRATEGIES.advisory, 0, 0),
    assigned: loss('assigned', `${STRATEGIES.assigned}: its claimer`, 1, 0),
    coordinator: loss('assigned', `${STRATEGIES.assigned}: itself`, 2, 1),
  };
  const title = `Recovery, lease of ${sizes.lease} ms`;
  return { id: 'recovery', title, metrics, rounds: sizes.strategyRounds, runs };
}

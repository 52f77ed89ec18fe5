/** How much is measured. Durations are milliseconds. */
export interface Sizes {
  readonly rounds: number;
  readonly drain: number;
  /** About as long, and with fewer jobs, where so many would take longer. */
  readonly longestDrain: number;
  readonly enqueueFor: number;
  readonly bulk: number;
  readonly latencies: number;
  readonly idleFor: number;
  readonly growthRounds: number;
  readonly growthJobs: number;
  /** Of graphile-worker, which is slow then. */
  readonly peerGrowthJobs: number;
  readonly growthSize: number;
  readonly running: number;
  readonly pinnedFor: number;
  /** More than a minute of a worker: looks at the head of the queue, and autovacuum, come once a minute. */
  readonly pinnedJobs: number;
  readonly contention: number;
  readonly strategyRounds: number;
  readonly strategyJobs: number;
  readonly strategyClaimers: readonly number[];
  /** After so long a claimer is taken for dead, where its recovery is measured. */
  readonly lease: number;
}

export const FULL: Sizes = {
  rounds: 3,
  drain: 1_000_000,
  longestDrain: 15_000,
  enqueueFor: 5_000,
  bulk: 500_000,
  latencies: 1_000,
  idleFor: 300_000,
  growthRounds: 3,
  growthJobs: 200_000,
  peerGrowthJobs: 2_000,
  growthSize: 1_000_000,
  running: 10_000,
  pinnedFor: 600_000,
  pinnedJobs: 6_000_000,
  contention: 1_000_000,
  strategyRounds: 3,
  strategyJobs: 100_000,
  strategyClaimers: [1, 2, 4, 8, 16, 32],
  lease: 3_000,
};

/** In about five minutes. */
export const QUICK: Sizes = {
  rounds: 3,
  drain: 20_000,
  longestDrain: 1_000,
  enqueueFor: 700,
  bulk: 30_000,
  latencies: 60,
  idleFor: 20_000,
  growthRounds: 1,
  growthJobs: 10_000,
  peerGrowthJobs: 500,
  growthSize: 100_000,
  running: 2_000,
  pinnedFor: 5_000,
  pinnedJobs: 100_000,
  contention: 300_000,
  strategyRounds: 1,
  strategyJobs: 16_000,
  strategyClaimers: [1, 8, 32],
  lease: 1_000,
};

import { setTimeout as pause } from 'node:timers/promises';
import { type Fleet, startClaimers } from './claimer-process.js';
import { fill, type Ground, parameter, type Scenario, settleDown } from './scenario.js';

const LOOK = 20;

/**
 * Workers in several processes, which have run jobs before, drain one queue: their total rate, and the least and the greatest
 * share of one of them. Those that can be paused live on while the jobs are queued; others are stopped and started.
 */
export const contention: Scenario = async (ground) => {
  const { system, url, spec } = ground;
  const claimers = parameter(ground, 'claimers');
  const jobs = parameter(ground, 'jobs');
  const warmUp = parameter(ground, 'warmUp');
  const processes = parameter(ground, 'processes');
  const fleet = await startClaimers(url, spec.contestant, processes, claimers / processes);
  await fill(ground, warmUp);
  await fleet.start();
  await drained(ground, fleet, warmUp);
  await (system.pause?.() ?? fleet.stop());
  const before = await fleet.count();
  await fill(ground, jobs);
  await settleDown(ground);
  const startedAt = performance.now();
  await (system.resume?.() ?? fleet.start());
  await drained(ground, fleet, warmUp + jobs);
  const duration = performance.now() - startedAt;
  const counts = (await fleet.stop()).map((count, nth) => count - (before[nth] ?? 0));
  await fleet.close();
  if (total(counts) !== jobs) throw new Error(`${jobs} jobs were run ${total(counts)} times`);
  const shares = counts.map((count) => (count / jobs) * claimers);
  return { rate: (jobs / duration) * 1_000, leastShare: Math.min(...shares), greatestShare: Math.max(...shares) };
};

async function drained({ system }: Ground, fleet: Fleet, jobs: number): Promise<void> {
  // To look into a table that is being drained takes the longer the more is dead in it.
  while (total(await fleet.count()) < jobs) await pause(LOOK);
  while (!(await system.isDrained())) await pause(LOOK);
}

const total = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0);

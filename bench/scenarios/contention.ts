import { setTimeout as pause } from 'node:timers/promises';
import { type Fleet, startClaimers } from './claimer-process.js';
import { fill, type Ground, parameter, type Scenario, settleDown } from './scenario.js';

const LOOK = 20;

/** Workers in several processes drain one queue: their total rate, and the least and the greatest share of one of them. */
export const contention: Scenario = async (ground) => {
  const { url, spec } = ground;
  const processes = parameter(ground, 'processes');
  const claimers = parameter(ground, 'claimers');
  const jobs = parameter(ground, 'jobs');
  const fleet = await startClaimers(url, spec.contestant, processes, claimers / processes);
  await fill(ground, parameter(ground, 'warmUp') * processes);
  await drainWith(ground, fleet, parameter(ground, 'warmUp') * processes);
  await fill(ground, jobs);
  await settleDown(ground);
  const { duration, counts } = await drainWith(ground, fleet, jobs);
  await fleet.close();
  const sum = total(counts);
  if (sum !== jobs) throw new Error(`${jobs} jobs were run ${sum} times`);
  const shares = counts.map((count) => (count / jobs) * claimers);
  return { rate: (jobs / duration) * 1_000, leastShare: Math.min(...shares), greatestShare: Math.max(...shares) };
};

async function drainWith({ system }: Ground, fleet: Fleet, jobs: number) {
  const startedAt = performance.now();
  await fleet.start();
  // To look into a table that is being drained takes the longer the more is dead in it.
  while (total(await fleet.count()) < jobs) await pause(LOOK);
  while (!(await system.isDrained())) await pause(LOOK);
  const duration = performance.now() - startedAt;
  return { duration, counts: await fleet.stop() };
}

const total = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0);

import { setTimeout as pause } from 'node:timers/promises';
import { type Fleet, startClaimers } from './claimer-process.js';
import { fill, type Ground, parameter, type Scenario } from './scenario.js';
import { startCoordinators } from './strategies.js';

const LOOK = 2;

/** How long jobs wait for another claimer when the one that has them is killed, and when it stands still but stays connected. */
export const recovery: Scenario = async (ground) => {
  const timeStuck = parameter(ground, 'ofCoordinator') === 1 ? timeWithoutCoordinator : timeWithoutClaimer;
  return { killed: await timeStuck(ground, 'SIGKILL'), frozen: await timeStuck(ground, 'SIGSTOP') };
};

/** Milliseconds until others have begun all jobs that a claimer had. */
async function timeWithoutClaimer(ground: Ground, signal: NodeJS.Signals): Promise<number> {
  const { url, spec } = ground;
  const { system, options } = spec.contestant;
  const coordinators = await startCoordinators(ground, parameter(ground, 'coordinators'));
  const victim = await startClaimers(url, { system, options: { ...options, hold: true } }, 1, 1);
  const others = await startClaimers(url, spec.contestant, parameter(ground, 'processes') - 1, 1);
  await victim.start();
  await fill(ground, parameter(ground, 'jobs'));
  await untilBegun(ground, victim);
  await others.start();
  // It dies at any time between two heartbeats.
  await pause(Math.random() * parameter(ground, 'lease'));
  victim.signal(signal);
  return timeToBegin(ground, others, [...coordinators, victim, others]);
}

/** Milliseconds until jobs have begun that were enqueued when the coordinator was lost. */
async function timeWithoutCoordinator(ground: Ground, signal: NodeJS.Signals): Promise<number> {
  const coordinators = await startCoordinators(ground, parameter(ground, 'coordinators'));
  const claimers = await startClaimers(ground.url, ground.spec.contestant, parameter(ground, 'processes'), 1);
  await claimers.start();
  coordinators[0]?.signal(signal);
  const begun = timeToBegin(ground, claimers, [...coordinators, claimers]);
  await fill(ground, parameter(ground, 'jobs'));
  return begun;
}

async function timeToBegin(ground: Ground, claimers: Fleet, all: readonly Fleet[]): Promise<number> {
  const startedAt = performance.now();
  await untilBegun(ground, claimers, parameter(ground, 'patience'));
  const duration = performance.now() - startedAt;
  await claimers.stop(); // with what they have settled
  for (const fleet of all) fleet.signal('SIGKILL');
  return Math.min(duration, parameter(ground, 'patience'));
}

async function untilBegun(ground: Ground, fleet: Fleet, patience = Infinity): Promise<void> {
  const jobs = parameter(ground, 'jobs');
  const until = performance.now() + patience;
  const begun = async () => (await fleet.count()).reduce((sum, count) => sum + count, 0);
  while ((await begun()) < jobs && performance.now() < until) await pause(LOOK);
}

import { startClaimers } from './claimer-process.js';
import { contention } from './contention.js';
import { type Ground, parameter, type Scenario } from './scenario.js';

/** As contention, beside a coordinator where the strategy has one. */
export const strategies: Scenario = async (ground) => {
  const coordinators = await startCoordinators(ground, parameter(ground, 'coordinators'));
  const measurement = await contention(ground);
  for (const coordinator of coordinators) {
    await coordinator.stop();
    await coordinator.close();
  }
  return measurement;
};

/** Each in a process of its own; the first assigns, the others stand by. */
export async function startCoordinators({ url, spec }: Ground, count: number) {
  const { system, options } = spec.contestant;
  const contestant = { system, options: { ...options, role: 'coordinator' } };
  const coordinators = await Promise.all(Array.from({ length: count }, () => startClaimers(url, contestant, 1, 1)));
  for (const coordinator of coordinators) await coordinator.start();
  return coordinators;
}

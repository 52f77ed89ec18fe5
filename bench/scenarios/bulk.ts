import { fill, parameter, type Scenario, settleDown } from './scenario.js';

/** Jobs that are enqueued by the thousands, one call after the other. */
export const bulk: Scenario = async (ground) => {
  const jobs = parameter(ground, 'jobs');
  await fill(ground, parameter(ground, 'warmUp'));
  await settleDown(ground);
  const startedAt = performance.now();
  await fill(ground, jobs);
  return { rate: (jobs / (performance.now() - startedAt)) * 1_000 };
};

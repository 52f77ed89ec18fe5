import { fill, parameter, type Scenario, settleDown } from './scenario.js';
import { timeToDrain, warmUp } from './work.js';

/** N no-op jobs are queued; the time until all are settled. Of a queue that would take too long, fewer. */
export const drain: Scenario = async (ground) => {
  const warmRate = await warmUp(ground, parameter(ground, 'warmUp'));
  const jobs = Math.min(parameter(ground, 'jobs'), Math.ceil((warmRate * parameter(ground, 'longest')) / 1_000));
  await fill(ground, jobs);
  await settleDown(ground);
  return { rate: (jobs / (await timeToDrain(ground, jobs))) * 1_000 };
};

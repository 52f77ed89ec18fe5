import { type Ground, parameter, type Scenario, settleDown } from './scenario.js';

/** Callers that each enqueue one job after the other. */
export const enqueue: Scenario = async (ground) => {
  const callers = parameter(ground, 'callers');
  await enqueueFor(ground, callers, parameter(ground, 'warmUp'));
  await settleDown(ground);
  return { rate: await enqueueFor(ground, callers, parameter(ground, 'duration')) };
};

async function enqueueFor({ system }: Ground, callers: number, duration: number): Promise<number> {
  const startedAt = performance.now();
  let enqueued = 0;
  const call = async () => {
    while (performance.now() - startedAt < duration) {
      await system.enqueue();
      enqueued++;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return (enqueued / (performance.now() - startedAt)) * 1_000;
}

import { setTimeout as pause } from 'node:timers/promises';
import { deferred } from '../deferred.js';
import { percentile } from '../report/statistics.js';
import { parameter, type Scenario, settleDown } from './scenario.js';

// Until the outcome of the job before is written, so that each finds the queue empty.
const BETWEEN = 10;

/** One job at a time, from the call of the producer to the start of the handler, in one process. */
export const latency: Scenario = async (ground) => {
  const { system } = ground;
  let started: (at: number) => void = () => undefined;
  const stop = await system.startWorker(() => started(performance.now()));
  const runOne = async () => {
    const { promise, resolve } = deferred<number>();
    started = resolve;
    const enqueuedAt = performance.now();
    const [startedAt] = await Promise.all([promise, system.enqueue()]);
    return startedAt - enqueuedAt;
  };
  for (let i = 0; i < parameter(ground, 'warmUp'); i++) await runOne();
  await settleDown(ground);
  const samples: number[] = [];
  for (let i = 0; i < parameter(ground, 'jobs'); i++) {
    await pause(BETWEEN);
    samples.push(await runOne());
  }
  await stop();
  return { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) };
};

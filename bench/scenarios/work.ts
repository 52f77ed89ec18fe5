import { setTimeout as pause } from 'node:timers/promises';
import { deferred } from '../deferred.js';
import { fill, type Ground } from './scenario.js';

const LOOK = 5;

/** Milliseconds from the start of a worker until it has ended all jobs that are due, and all outcomes are written. */
export async function timeToDrain({ system }: Ground, jobs: number): Promise<number> {
  const handled = countTo(jobs);
  const startedAt = performance.now();
  const stop = await system.startWorker(handled.count);
  await handled.reached;
  while (!(await system.isDrained())) await pause(LOOK);
  const duration = performance.now() - startedAt;
  await stop();
  return duration;
}

/** Jobs a second of a worker that is stopped after so many of more jobs. Stopping writes all outcomes, and is counted. */
export async function rateOf({ system }: Ground, jobs: number): Promise<number> {
  const handled = countTo(jobs);
  const startedAt = performance.now();
  const stop = await system.startWorker(handled.count);
  await handled.reached;
  await stop();
  return (handled.counted() / (performance.now() - startedAt)) * 1_000;
}

/** Lets the process compile its hot paths and open its connections. Resolves with the jobs a second of it. */
export async function warmUp(ground: Ground, jobs: number): Promise<number> {
  await fill(ground, jobs);
  return (jobs / (await timeToDrain(ground, jobs))) * 1_000;
}

function countTo(wanted: number) {
  const { promise, resolve } = deferred<undefined>();
  let counted = 0;
  const count = () => {
    counted++;
    if (counted === wanted) resolve(undefined);
  };
  return { count, counted: () => counted, reached: promise };
}

import { setTimeout as pause } from 'node:timers/promises';
import { fill, type Ground } from './scenario.js';

const LOOK = 5;

/** Milliseconds from the start of a worker until it has ended all jobs that are due, and all outcomes are written. */
export async function timeToDrain({ system }: Ground, jobs: number): Promise<number> {
  const handled = tally();
  const startedAt = performance.now();
  const stop = await system.startWorker(handled.count);
  await handled.reached(jobs);
  while (!(await system.isDrained())) await pause(LOOK);
  const duration = performance.now() - startedAt;
  await stop();
  return duration;
}

/** Jobs a second of a worker that is stopped after so many of more jobs. Stopping writes all outcomes, and is counted. */
export async function rateOf({ system }: Ground, jobs: number): Promise<number> {
  const handled = tally();
  const startedAt = performance.now();
  const stop = await system.startWorker(handled.count);
  await handled.reached(jobs);
  await stop();
  return (handled.counted() / (performance.now() - startedAt)) * 1_000;
}

/** Lets the process compile its hot paths and open its connections. Resolves with the jobs a second of it. */
export async function warmUp(ground: Ground, jobs: number): Promise<number> {
  await fill(ground, jobs);
  return (jobs / (await timeToDrain(ground, jobs))) * 1_000;
}

export interface Tally {
  readonly count: () => void;
  readonly counted: () => number;
  /** Resolves when so many are counted. */
  readonly reached: (wanted: number) => Promise<void>;
}

export function tally(): Tally {
  let counted = 0;
  let awaited = Infinity;
  let resolve = () => {};
  const reached = async (wanted: number) => {
    if (counted >= wanted) return;
    awaited = wanted;
    await new Promise<void>((reach) => (resolve = reach));
  };
  const count = () => {
    if (++counted === awaited) resolve();
  };
  return { count, counted: () => counted, reached };
}

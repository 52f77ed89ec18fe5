import { Client } from 'pg';
import { fill, type Ground, parameter, type Scenario } from './scenario.js';
import { tally, type Tally, warmUp } from './work.js';

/** The worker always has something to do, and is never far behind. */
const REFILL = 5_000;

/**
 * A worker that lives on: jobs come and go for `busyFor` milliseconds, then they are paused, N jobs are queued, and they are
 * resumed. The rate is that until all of them are settled. With `pinned` an xmin is held from before the first of the jobs until
 * the end.
 */
export const pinned: Scenario = async (ground) => {
  const { system, spec } = ground;
  if (!system.pause || !system.resume) throw new Error(`${spec.contestant.label} can't pause its jobs`);
  await warmUp(ground, parameter(ground, 'warmUp'));
  const unpin = parameter(ground, 'pinned') === 1 ? await pinXmin(ground) : () => Promise.resolve();
  const handled = tally();
  const stop = await system.startWorker(handled.count);
  await keepBusy(ground, handled);
  await system.pause();
  const jobs = parameter(ground, 'jobs');
  const last = handled.counted() + jobs;
  await fill(ground, jobs);
  const startedAt = performance.now();
  await system.resume();
  await handled.reached(last);
  await stop(); // writes all outcomes
  const rate = (jobs / (performance.now() - startedAt)) * 1_000;
  await unpin();
  return { rate };
};

async function keepBusy(ground: Ground, handled: Tally): Promise<void> {
  const until = performance.now() + parameter(ground, 'busyFor');
  let enqueued = 0;
  do {
    await fill(ground, REFILL);
    enqueued += REFILL;
    await handled.reached(enqueued - REFILL);
  } while (performance.now() < until);
  await handled.reached(enqueued);
}

/** Begins a transaction that sees the past, such as a long report or a backup. */
async function pinXmin({ url }: Ground) {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select count(*) from pg_class');
  return () => client.end();
}

import type { System } from './system.js';

interface Adapter {
  createSystem(url: string, options: object): System;
}

/** Each in a process of its own, which loads nothing of the others. */
const ADAPTERS: Record<string, () => Promise<unknown>> = {
  pgqueue: () => import('./pgqueue.js'),
  'graphile-worker': () => import('./graphile-worker.js'),
  'pg-boss': () => import('./pg-boss.js'),
  bullmq: () => import('./bullmq.js'),
  'bare-sql': () => import('./bare-sql.js'),
  strategy: () => import('./strategy.js'),
};

export async function createSystem(name: string, url: string, options: object): Promise<System> {
  const load = ADAPTERS[name];
  if (load === undefined)
    throw new Error(`There is no adapter ${name}. Those are: ${Object.keys(ADAPTERS).join(', ')}`);
  return ((await load()) as Adapter).createSystem(url, options);
}

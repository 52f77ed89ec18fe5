import type { Contestant } from './run-spec.js';

// graphile-worker: the configuration of its page on performance. pg-boss: batches, which its documentation names for
// throughput, with notifications. BullMQ: its defaults but for the concurrency.
const fast = { concurrentJobs: 24, maxPoolSize: 25, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const onPostgres = { backend: 'postgres' } as const;

export const CONTESTANTS = {
  pgqueue: { label: 'nestjs-pgqueue', system: 'pgqueue', options: { worker: { concurrency: 24 } }, ...onPostgres },
  pgqueueNothingKept: {
    label: 'nestjs-pgqueue, no outcomes kept',
    system: 'pgqueue',
    options: { retention: { successful: 0 } },
    ...onPostgres,
  },
  pgqueueDefault: { label: 'nestjs-pgqueue, forRoot()', system: 'pgqueue', options: {}, ...onPostgres },
  pgqueueApart: {
    label: 'nestjs-pgqueue, enqueued elsewhere',
    system: 'pgqueue',
    options: { worker: { concurrency: 24 }, apart: true },
    ...onPostgres,
  },
  graphile: {
    label: 'graphile-worker, local queue 500',
    system: 'graphile-worker',
    options: { ...fast, localQueue: { size: 500 } },
    ...onPostgres,
  },
  graphile2000: {
    label: 'graphile-worker, local queue 2000',
    system: 'graphile-worker',
    options: { ...fast, localQueue: { size: 2_000 } },
    ...onPostgres,
  },
  graphilePlain: {
    label: 'graphile-worker, 10 slots',
    system: 'graphile-worker',
    options: { concurrentJobs: 10, maxPoolSize: 11 },
    ...onPostgres,
  },
  pgBoss: {
    label: 'pg-boss, batch 5000',
    system: 'pg-boss',
    options: { batchSize: 5_000, burstWhenBatchFull: true },
    ...onPostgres,
  },
  bullmqPostgres: { label: 'BullMQ on PostgreSQL', system: 'bullmq', options: { concurrency: 100 }, ...onPostgres },
  bullmqRedis: { label: 'BullMQ on Redis', system: 'bullmq', options: { concurrency: 100 }, backend: 'redis' },
  bare: { label: 'bare SQL, batch 500', system: 'bare-sql', options: { batch: 500, connections: 2 }, ...onPostgres },
} as const satisfies Record<string, Contestant>;

export type ContestantName = keyof typeof CONTESTANTS;

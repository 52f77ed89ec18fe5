import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Entrypoint, type Job, type JobContext, PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { DataSource } from 'typeorm';
import { deferred } from '../deferred.js';

const HOLD = 'hold';
const AT_ONCE = 5_000;

/** Runs jobs that don't end, in a worker of their own, until the function that it resolves with is called. */
export async function holdJobs(url: string, jobs: number): Promise<() => Promise<void>> {
  const running = deferred<undefined>();
  let started = 0;

  @Injectable()
  class Holder {
    @Entrypoint(HOLD)
    hold(_job: Job, { signal }: JobContext): Promise<void> {
      if (++started === jobs) running.resolve(undefined);
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    }
  }

  const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
  @Module({
    imports: [PgQueueModule.forRoot({ dataSource, worker: { concurrency: jobs, shutdownTimeout: 0 } })],
    providers: [Holder],
  })
  class HolderModule {}

  const app = await NestFactory.createApplicationContext(HolderModule, { logger: ['error'] });
  const producer = app.get<PgQueueProducer>(PgQueueProducer);
  for (let from = 0; from < jobs; from += AT_ONCE) {
    const count = Math.min(AT_ONCE, jobs - from);
    await producer.enqueueMany(Array.from({ length: count }, () => ({ entrypoint: HOLD })));
  }
  await running.promise;
  return async () => {
    await app.close();
    await dataSource.destroy();
  };
}

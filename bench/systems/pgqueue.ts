import 'reflect-metadata';
import { type INestApplicationContext, Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  Entrypoint,
  PgQueueAdmin,
  PgQueueModule,
  PgQueueProducer,
  PgQueueWorker,
  type WorkerOptions,
} from 'nestjs-pgqueue';
import { DataSource } from 'typeorm';
import { type BenchJob, type CreateSystem, NOOP, PAYLOAD, type System } from './system.js';

/** What the application gives to `PgQueueModule.forRoot()`. */
export interface PgQueueBenchOptions {
  readonly worker?: WorkerOptions;
  /** Whether another application enqueues, which has no worker. */
  readonly apart?: boolean;
}

@Injectable()
class NoopHandler {
  handle: () => void = () => undefined;

  @Entrypoint(NOOP)
  run(): Promise<void> {
    this.handle();
    return Promise.resolve();
  }
}

function appModule(dataSource: DataSource, { worker, apart: _, ...options }: PgQueueBenchOptions) {
  @Module({
    imports: [PgQueueModule.forRoot({ ...options, dataSource, worker: { ...worker, autoStart: false } })],
    providers: [NoopHandler],
  })
  class AppModule {}
  return AppModule;
}

function producerModule(dataSource: DataSource) {
  @Module({ imports: [PgQueueModule.forRoot({ dataSource, worker: false })] })
  class ProducerModule {}
  return ProducerModule;
}

class PgQueueSystem implements System {
  private readonly dataSource: DataSource;
  private app!: INestApplicationContext;
  private producers!: INestApplicationContext;

  constructor(
    url: string,
    private readonly options: PgQueueBenchOptions,
  ) {
    this.dataSource = new DataSource({ type: 'postgres', url });
  }

  async open(): Promise<void> {
    await this.dataSource.initialize();
    const open = (module: Type) => NestFactory.createApplicationContext(module, { logger: ['warn', 'error'] });
    this.app = await open(appModule(this.dataSource, this.options));
    this.producers = this.options.apart === true ? await open(producerModule(this.dataSource)) : this.app;
  }

  enqueue(): Promise<unknown> {
    return this.producers.get<PgQueueProducer>(PgQueueProducer).enqueue(NOOP, PAYLOAD);
  }

  enqueueMany(jobs: readonly BenchJob[]): Promise<unknown> {
    return this.app.get<PgQueueProducer>(PgQueueProducer).enqueueMany(
      jobs.map(({ name = NOOP, delay = 0, urgent = false }) => ({
        entrypoint: name,
        payload: PAYLOAD,
        delay,
        priority: urgent ? 10 : 0,
      })),
    );
  }

  async startWorker(handle: () => void): Promise<() => Promise<unknown>> {
    this.app.get(NoopHandler).handle = handle;
    const worker = this.app.get<PgQueueWorker>(PgQueueWorker);
    await worker.start();
    return () => worker.stop();
  }

  async isDrained(): Promise<boolean> {
    const rows = await this.dataSource.query<unknown[]>(
      `select from pgqueue.job where status in ('queued', 'picked') limit 1`,
    );
    return rows.length === 0;
  }

  pause(): Promise<boolean> {
    return this.app.get<PgQueueAdmin>(PgQueueAdmin).pause(NOOP);
  }

  resume(): Promise<boolean> {
    return this.app.get<PgQueueAdmin>(PgQueueAdmin).resume(NOOP);
  }

  async close(): Promise<void> {
    await this.app.close();
    if (this.producers !== this.app) await this.producers.close();
    await this.dataSource.destroy();
  }
}

export const createSystem: CreateSystem<PgQueueBenchOptions> = (url, options) => new PgQueueSystem(url, options);

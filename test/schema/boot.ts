import { Test } from '@nestjs/testing';
import { PgQueueModule, type PgQueueOptions, PgQueueProducer } from 'nestjs-pgqueue';
import { DataSource } from 'typeorm';
import { silentLogger } from '../support/index.js';

export interface BootedQueue {
  readonly queue: PgQueueProducer;
  readonly dataSource: DataSource;
  close(): Promise<void>;
}

/** A producer in a Nest application of its own. One that fails to boot leaves no connection, which Nest alone would. */
export async function boot(url: string, options: PgQueueOptions = {}): Promise<BootedQueue> {
  const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
  try {
    const imports = [PgQueueModule.forRoot({ dataSource, worker: false, ...options })];
    const module = await Test.createTestingModule({ imports }).setLogger(silentLogger).compile();
    await module.init();
    const close = () => module.close().then(() => dataSource.destroy());
    return { queue: module.get(PgQueueProducer), dataSource, close };
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
}

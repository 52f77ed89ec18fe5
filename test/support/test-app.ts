import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { PgQueueModule, PgQueueProducer, type PgQueueOptions } from 'nestjs-pgqueue';
import { silentLogger } from './silent-logger.js';

export interface TestApp {
  readonly app: INestApplicationContext;
  readonly queue: PgQueueProducer;
  readonly dataSource: DataSource;
  close(): Promise<void>;
}

/** A real Nest application on a test's database: TypeORM, the queue, and what the test adds. */
export async function startApp(
  url: string,
  metadata: ModuleMetadata = {},
  options: PgQueueOptions = {},
): Promise<TestApp> {
  const module = await Test.createTestingModule({
    ...metadata,
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, retryAttempts: 0 }),
      PgQueueModule.forRoot(options),
      ...(metadata.imports ?? []),
    ],
  })
    .setLogger(silentLogger)
    .compile();
  const app = await module.init();
  return { app, queue: app.get(PgQueueProducer), dataSource: app.get(DataSource), close: () => app.close() };
}

// An application that knows the package only as its users do. It is compiled to CommonJS and to ES modules.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Entrypoint, PgQueueModule, PgQueueProducer, type Job, type JobContext } from 'nestjs-pgqueue';
import { startEmbeddedPostgres } from 'nestjs-pgqueue/testing';
import { DataSource } from 'typeorm';

interface Receipt {
  orderId: number;
}

@Injectable()
class Orders {
  constructor(
    private readonly queue: PgQueueProducer,
    private readonly dataSource: DataSource,
  ) {}

  place(orderId: number): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      await this.queue.enqueue('send_receipt', { orderId }, { manager, priority: 1 });
    });
  }
}

@Injectable()
class Receipts {
  readonly events = new EventEmitter();

  @Entrypoint('send_receipt', { retry: { maxAttempts: 2 } })
  send(job: Job<Receipt>, context: JobContext): void {
    this.events.emit('sent', job.payload.orderId, job.attempt, context.signal.aborted);
  }
}

@Module({ providers: [Orders, Receipts] })
class AppModule {
  static on(url: string): DynamicModule {
    return {
      module: AppModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url }),
        PgQueueModule.forRoot({ worker: { concurrency: 2 } }),
      ],
    };
  }
}

async function main(): Promise<void> {
  const server = await startEmbeddedPostgres();
  const app = await NestFactory.createApplicationContext(AppModule.on(server.url), { logger: ['warn', 'error'] });
  const sent = once(app.get(Receipts).events, 'sent', { signal: AbortSignal.timeout(20_000) });
  await app.get(Orders).place(7);
  assert.deepEqual(await sent, [7, 1, false]);
  await app.close();
  await server.stop();
}

void main();

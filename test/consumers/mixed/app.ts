// Run twice: where Node gives both module systems one copy of nestjs-pgqueue, and where it can't.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Injectable, Module, type DynamicModule, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { startEmbeddedPostgres } from 'nestjs-pgqueue/testing';
import { DataSource } from 'typeorm';

@Injectable()
class Orders {
  constructor(
    readonly queue: PgQueueProducer,
    private readonly dataSource: DataSource,
  ) {}

  place(orderId: number): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      await this.queue.enqueue('send_invoice', { orderId }, { manager });
    });
  }
}

@Module({ providers: [Orders] })
class AppModule {
  static on(url: string, billing: Type): DynamicModule {
    return {
      module: AppModule,
      imports: [TypeOrmModule.forRoot({ type: 'postgres', url }), PgQueueModule.forRoot(), billing],
    };
  }
}

async function main(): Promise<void> {
  const { Billing, BillingModule } = await import('billing');
  const server = await startEmbeddedPostgres();
  const root = AppModule.on(server.url, BillingModule);
  const app = await NestFactory.createApplicationContext(root, { logger: ['warn', 'error'] });

  const producer: PgQueueProducer = app.get(Billing).queue;
  assert.equal(producer, app.get(Orders).queue);

  const sent = once(app.get(Billing).events, 'sent', { signal: AbortSignal.timeout(20_000) });
  await app.get(Orders).place(7);
  assert.deepEqual(await sent, [7]);
  await app.close();
  await server.stop();
}

void main();

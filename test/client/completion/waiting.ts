import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PgQueueCompletion, type PgQueueError, PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env['DATABASE_URL'] ?? '' }),
    PgQueueModule.forRoot({ worker: false }),
  ],
})
class App {}

/** Waits for a job that nobody runs, without a timeout, and closes at a SIGTERM. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(App, { logger: ['warn', 'error'] });
  const { id } = await app.get(PgQueueProducer).enqueue('work');
  process.once('SIGTERM', () => void app.close().then(() => console.log('closed')));
  const wait = app.get(PgQueueCompletion).waitFor(id);
  console.log(`waiting for ${id}`);
  await wait.catch((error: unknown) => console.log((error as PgQueueError).code));
}

void main();

import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PgQueueWorker } from 'nestjs-pgqueue';
import { AppModule } from './app.module.js';

// What shutdownTimeout lets handlers take, and a moment to write how they ended.
const RESERVE = 8_000;

let app: INestApplicationContext | undefined;

export async function handler(_event: unknown, context: { getRemainingTimeInMillis(): number }) {
  app ??= await NestFactory.createApplicationContext(AppModule);
  const signal = AbortSignal.timeout(Math.max(context.getRemainingTimeInMillis() - RESERVE, 0));
  return app.get(PgQueueWorker).drain({ signal });
}

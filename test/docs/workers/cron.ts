import { NestFactory } from '@nestjs/core';
import { PgQueueWorker } from 'nestjs-pgqueue';
import { AppModule } from './app.module.js';

async function main() {
  const app = await NestFactory.createApplicationContext(AppModule);
  try {
    const attempts = await app.get(PgQueueWorker).drain();
    if (attempts.some(({ status }) => status === 'failed')) process.exitCode = 1;
  } finally {
    await app.close();
  }
}

void main();

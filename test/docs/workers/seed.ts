import { NestFactory } from '@nestjs/core';
import { PgQueueProducer } from 'nestjs-pgqueue';
import { AppModule } from './app.module.js';

async function main() {
  const app = await NestFactory.createApplicationContext(AppModule);
  const orders = Array.from({ length: 100 }, (_, index) => index + 1);
  await app
    .get(PgQueueProducer)
    .enqueueMany(orders.map((orderId) => ({ entrypoint: 'send_receipt', payload: { orderId } })));
  await app.close();
}

void main();

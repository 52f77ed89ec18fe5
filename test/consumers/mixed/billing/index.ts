// A library of ES modules, used by an application of CommonJS: each may load its own copy of nestjs-pgqueue.
import { EventEmitter } from 'node:events';
import { Injectable, Module } from '@nestjs/common';
import { Entrypoint, PgQueueProducer, type Job } from 'nestjs-pgqueue';

@Injectable()
export class Billing {
  readonly events = new EventEmitter();

  constructor(readonly queue: PgQueueProducer) {}

  @Entrypoint('send_invoice')
  send(job: Job<{ orderId: number }>): void {
    this.events.emit('sent', job.payload.orderId);
  }
}

@Module({ providers: [Billing], exports: [Billing] })
export class BillingModule {}

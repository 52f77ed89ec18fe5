import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Entrypoint, type Job, type JobContext } from 'nestjs-pgqueue';
import type { Repository } from 'typeorm';
import { Mailer } from '../mail/mailer.js';
import { Order } from '../orders/order.entity.js';
import { receiptMail } from './receipt.mail.js';
import type { SendReceipt } from './send-receipt.job.js';

@Injectable()
export class ReceiptsHandler {
  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    private readonly mailer: Mailer,
  ) {}

  @Entrypoint('send_receipt', { retry: { maxAttempts: 5, delay: 1_000 } })
  async send(job: Job<SendReceipt>, context: JobContext): Promise<void> {
    const order = await this.orders.findOneByOrFail({ id: job.payload.orderId });
    // A job is delivered at least once: an attempt before this one may have sent the mail and died before it could say so.
    if (order.receiptSentAt) return;
    // A worker that has lost its job leaves the mail to the one that has it now.
    context.signal.throwIfAborted();
    await this.mailer.send(receiptMail(order));
    await this.orders.update(order.id, { receiptSentAt: new Date() });
  }
}

import { Injectable } from '@nestjs/common';
import { Entrypoint, type Job } from 'nestjs-pgqueue';

@Injectable()
export class Receipts {
  @Entrypoint('send_receipt')
  send({ payload }: Job<{ orderId: number }>) {
    if (payload.orderId < 0) throw new Error(`There is no order ${payload.orderId}`);
  }
}

import { Injectable, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Entrypoint, FailJob, type Job, type JobContext, PgQueueModule, RetryJob } from 'nestjs-pgqueue';

/** The client of a payment service. */
@Injectable()
export class Bank {
  async charge(orderId: number, signal: AbortSignal): Promise<{ status: number; retryAfter?: number }> {
    const response = await fetch(`https://bank.example/charges/${orderId}`, { method: 'PUT', signal });
    const retryAfter = Number(response.headers.get('retry-after'));
    return { status: response.status, ...(retryAfter > 0 ? { retryAfter } : {}) };
  }
}

@Injectable()
export class Payments {
  constructor(private readonly bank: Bank) {}

  @Entrypoint('charge', { timeout: 30_000, retry: { maxAttempts: 8, delay: 5_000 }, onFailure: 'hold' })
  async charge({ payload }: Job<{ orderId: number }>, context: JobContext) {
    const { status, retryAfter = 60 } = await this.bank.charge(payload.orderId, context.signal);
    if (status === 429) throw new RetryJob({ delay: retryAfter * 1_000, reason: 'The bank asks for patience' });
    if (status === 404) throw new FailJob(`The bank knows no order ${payload.orderId}`);
    if (status !== 200) throw new Error(`The bank answers ${status}`);
    return { charged: payload.orderId };
  }
}

@Module({
  imports: [
    TypeOrmModule.forRootAsync({ useFactory: () => ({ type: 'postgres', url: process.env['DATABASE_URL'] ?? '' }) }),
    PgQueueModule.forRoot(),
  ],
  providers: [Bank, Payments],
})
export class PaymentsModule {}

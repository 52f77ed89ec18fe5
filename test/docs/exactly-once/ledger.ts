import { Injectable, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Entrypoint, type Job, type JobContext, PgQueueModule } from 'nestjs-pgqueue';

interface Transfer {
  readonly from: string;
  readonly to: string;
  readonly amount: number;
}

const MOVE = 'update account set balance = balance + $2 where name = $1';

@Injectable()
export class Ledger {
  constructor(private readonly dataSource: DataSource) {}

  @Entrypoint('transfer', { transactional: true })
  async transfer({ payload: { from, to, amount } }: Job<Transfer>, { manager }: JobContext) {
    await manager.query(MOVE, [from, -amount]);
    await manager.query(MOVE, [to, amount]);
  }

  /** Asks another service first, and so holds no connection while it waits. */
  @Entrypoint('deposit')
  async deposit({ payload: { to, amount } }: Job<Transfer>, context: JobContext) {
    const rate = await this.rateOfToday();
    await this.dataSource.transaction(async (manager) => {
      await manager.query(MOVE, [to, amount * rate]);
      await context.completeWith(manager, { rate });
    });
  }

  rateOfToday(): Promise<number> {
    return Promise.resolve(2);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      useFactory: () => ({ type: 'postgres', url: process.env['DATABASE_URL'] ?? '', poolSize: 20 }),
    }),
    PgQueueModule.forRoot(),
  ],
  providers: [Ledger],
})
export class LedgerModule {}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PgQueueModule } from 'nestjs-pgqueue';
import { Receipts } from './receipts.js';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      useFactory: () => ({ type: 'postgres', url: process.env['DATABASE_URL'] ?? 'postgresql://localhost/shop' }),
    }),
    PgQueueModule.forRootAsync({
      useFactory: () => ({ worker: { autoStart: process.env['ROLE'] === 'worker', shutdownTimeout: 5_000 } }),
    }),
  ],
  providers: [Receipts],
})
export class AppModule {}

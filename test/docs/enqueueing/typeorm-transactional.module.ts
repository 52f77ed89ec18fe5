import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PgQueueModule } from 'nestjs-pgqueue';
import { DataSource } from 'typeorm';
import { addTransactionalDataSource } from 'typeorm-transactional';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      useFactory: () => ({ type: 'postgres', url: process.env['DATABASE_URL'] ?? 'postgresql://localhost/shop' }),
      dataSourceFactory: (options) => Promise.resolve(addTransactionalDataSource(new DataSource(options!))),
    }),
    PgQueueModule.forRootAsync({
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => ({ transaction: () => dataSource.manager }),
    }),
  ],
})
export class AppModule {}

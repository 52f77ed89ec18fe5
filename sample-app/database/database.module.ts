import { Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { openDatabase } from './open-database.js';
import { CreateShop1764400000000 } from './migrations/create-shop.migration.js';

const CONNECTIONS = 20;

@Module({})
export class DatabaseModule {
  static register(url: string): DynamicModule {
    const database = TypeOrmModule.forRootAsync({
      useFactory: () => ({
        type: 'postgres',
        url,
        poolSize: CONNECTIONS,
        autoLoadEntities: true,
        migrations: [CreateShop1764400000000],
      }),
      dataSourceFactory: openDatabase,
    });
    return { module: DatabaseModule, imports: [database] };
  }
}

import { ClassSerializerInterceptor, Module, ValidationPipe, type DynamicModule } from '@nestjs/common';
import { APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { PgQueueModule } from 'nestjs-pgqueue';
import { DatabaseModule } from './database/database.module.js';
import { HealthModule } from './health/health.module.js';
import { ImportsModule } from './imports/imports.module.js';
import { MailModule } from './mail/mail.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { ReceiptsModule } from './receipts/receipts.module.js';
import type { ShopSettings } from './shop.settings.js';

@Module({})
export class AppModule {
  static register(settings: ShopSettings): DynamicModule {
    return {
      module: AppModule,
      imports: [
        DatabaseModule.register(settings.databaseUrl),
        PgQueueModule.forRoot({ worker: settings.worker }), // finds the application's DataSource
        MailModule.register(settings),
        OrdersModule,
        ReceiptsModule,
        ImportsModule,
        HealthModule,
      ],
      providers: [
        { provide: APP_PIPE, useValue: new ValidationPipe({ transform: true, whitelist: true }) },
        { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor },
      ],
    };
  }
}

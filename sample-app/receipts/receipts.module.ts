import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Order } from '../orders/order.entity.js';
import { ReceiptsHandler } from './receipts.handler.js';

@Module({ imports: [TypeOrmModule.forFeature([Order])], providers: [ReceiptsHandler] })
export class ReceiptsModule {}

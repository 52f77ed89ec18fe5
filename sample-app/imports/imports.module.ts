import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OrdersModule } from '../orders/orders.module.js';
import { ImportLine } from './import-line.entity.js';
import { OrderImport } from './import.entity.js';
import { ImportsController } from './imports.controller.js';
import { ImportsHandler } from './imports.handler.js';
import { ImportsService } from './imports.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([OrderImport, ImportLine]), OrdersModule],
  controllers: [ImportsController],
  providers: [ImportsHandler, ImportsService],
})
export class ImportsModule {}

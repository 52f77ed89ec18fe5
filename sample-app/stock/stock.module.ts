import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StockItem } from './stock-item.entity.js';
import { StockService } from './stock.service.js';

@Module({ imports: [TypeOrmModule.forFeature([StockItem])], providers: [StockService], exports: [StockService] })
export class StockModule {}

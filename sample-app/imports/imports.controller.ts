import { Body, Controller, Get, Param, Post, UnsupportedMediaTypeException } from '@nestjs/common';
import { IdParams } from '../id.params.js';
import type { OrderImport } from './import.entity.js';
import { ImportsService, type ImportProgress } from './imports.service.js';
import { parseOrders } from './orders-csv.parser.js';

@Controller('imports')
export class ImportsController {
  constructor(private readonly imports: ImportsService) {}

  @Post()
  start(@Body() csv: unknown): Promise<OrderImport> {
    if (typeof csv !== 'string') throw new UnsupportedMediaTypeException('Send the orders as text/csv');
    return this.imports.start(parseOrders(csv));
  }

  @Get(':id')
  progress(@Param() { id }: IdParams): Promise<ImportProgress> {
    return this.imports.progress(id);
  }
}

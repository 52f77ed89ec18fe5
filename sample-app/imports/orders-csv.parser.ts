import { BadRequestException } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { CsvError, parse } from 'csv-parse/sync';
import { CreateOrderDto } from '../orders/create-order.dto.js';

export interface OrderLine {
  readonly line: number;
  readonly order: CreateOrderDto;
}

const COLUMNS = ['customer', 'sku', 'quantity', 'price'] as const;
const MISTAKES_SHOWN = 20;

type Row = Record<(typeof COLUMNS)[number], string>;

/**
 * Reads a CSV of orders: a first line with the names of the columns, then one order of one article a line.
 * @throws BadRequestException naming the lines that are wrong
 */
export function parseOrders(csv: string): OrderLine[] {
  const lines = readRows(csv).map(({ record, info }) => ({ line: info.lines, order: toOrder(record) }));
  if (lines.length === 0) throw new BadRequestException('There are no orders in it');
  const mistakes = lines.flatMap(({ line, order }) => mistakesIn(order).map((mistake) => `line ${line}: ${mistake}`));
  if (mistakes.length > 0) throw new BadRequestException(mistakes.slice(0, MISTAKES_SHOWN));
  return lines;
}

function readRows(csv: string): { record: Row; info: { lines: number } }[] {
  try {
    return parse(csv, { bom: true, trim: true, skip_empty_lines: true, info: true, columns: checkColumns });
  } catch (error) {
    if (error instanceof CsvError) throw new BadRequestException(`line ${String(error['lines'])}: ${error.message}`);
    throw error;
  }
}

function checkColumns(header: string[]): string[] {
  const missing = COLUMNS.filter((column) => !header.includes(column));
  if (missing.length > 0) throw new BadRequestException(`line 1: there is no column ${missing.join(', ')}`);
  return header;
}

function toOrder({ customer, sku, quantity, price }: Row): CreateOrderDto {
  return plainToInstance(CreateOrderDto, {
    customer,
    items: [{ sku, quantity: toNumber(quantity), price: toNumber(price) }],
  });
}

function toNumber(text: string): number {
  return text === '' ? NaN : Number(text);
}

function mistakesIn(order: CreateOrderDto): string[] {
  return validateSync(order).flatMap(messagesOf);
}

function messagesOf({ constraints = {}, children = [] }: ValidationError): string[] {
  return [...Object.values(constraints), ...children.flatMap(messagesOf)];
}

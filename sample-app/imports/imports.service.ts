import { Injectable, NotFoundException } from '@nestjs/common';
import { PgQueueProducer } from 'nestjs-pgqueue';
import { DataSource, IsNull, Not } from 'typeorm';
import { Order } from '../orders/order.entity.js';
import { ImportLine } from './import-line.entity.js';
import type { ImportOrder } from './import-order.job.js';
import { OrderImport } from './import.entity.js';
import type { OrderLine } from './orders-csv.parser.js';

export interface ImportProgress extends Counts {
  readonly id: number;
  readonly total: number;
  /** The first of the lines that failed. */
  readonly errors: readonly { readonly line: number; readonly error: string | null }[];
}

interface Counts {
  readonly imported: number;
  readonly failed: number;
  readonly receiptsSent: number;
}

const ERRORS_SHOWN = 20;

@Injectable()
export class ImportsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly queue: PgQueueProducer,
  ) {}

  /** Enqueues an `import_order` job for every line. */
  start(lines: readonly OrderLine[]): Promise<OrderImport> {
    return this.dataSource.transaction(async (manager) => {
      const started = await manager.save(OrderImport, { total: lines.length });
      const payloads = lines.map((line): ImportOrder => ({ importId: started.id, ...line }));
      const jobs = payloads.map((payload) => ({ entrypoint: 'import_order', payload }));
      await this.queue.enqueueMany(jobs, { manager });
      return started;
    });
  }

  /** @throws NotFoundException */
  async progress(id: number): Promise<ImportProgress> {
    const started = await this.dataSource.manager.findOneBy(OrderImport, { id });
    if (!started) throw new NotFoundException(`There is no import ${id}`);
    const [counts, errors] = await Promise.all([this.count(id), this.errors(id)]);
    return { id, total: started.total, ...counts, errors };
  }

  private async count(importId: number): Promise<Counts> {
    const counts = await this.dataSource
      .createQueryBuilder(ImportLine, 'line')
      .leftJoin(Order, 'placed', 'placed.id = line.orderId')
      .select('count(line.orderId)::integer', 'imported')
      .addSelect('count(line.error)::integer', 'failed')
      .addSelect('count(placed.receiptSentAt)::integer', 'receiptsSent')
      .where('line.importId = :importId', { importId })
      .getRawOne<Counts>();
    return counts ?? { imported: 0, failed: 0, receiptsSent: 0 };
  }

  private errors(importId: number): Promise<ImportLine[]> {
    return this.dataSource.manager.find(ImportLine, {
      select: { line: true, error: true },
      where: { importId, error: Not(IsNull()) },
      order: { line: 'ASC' },
      take: ERRORS_SHOWN,
    });
  }
}

import { Injectable } from '@nestjs/common';
import { Entrypoint, type Job } from 'nestjs-pgqueue';
import { DataSource, type EntityManager } from 'typeorm';
import { OrdersService } from '../orders/orders.service.js';
import { OutOfStockException } from '../stock/out-of-stock.exception.js';
import { ImportLine } from './import-line.entity.js';
import type { ImportOrder } from './import-order.job.js';

@Injectable()
export class ImportsHandler {
  constructor(
    private readonly dataSource: DataSource,
    private readonly orders: OrdersService,
  ) {}

  @Entrypoint('import_order', { retry: { maxAttempts: 5, delay: 1_000 } })
  async importOrder({ payload }: Job<ImportOrder>): Promise<void> {
    try {
      await this.dataSource.transaction((manager) => this.placeOnce(manager, payload));
    } catch (error) {
      // Anything else is thrown on, and the queue tries again.
      if (!(error instanceof OutOfStockException)) throw error;
      await this.addLine(this.dataSource.manager, payload, { error: error.message });
    }
  }

  private async placeOnce(manager: EntityManager, { importId, line, order }: ImportOrder): Promise<void> {
    // A job is delivered at least once, and its line is added once: whoever finds it there has nothing left to do.
    if (!(await this.addLine(manager, { importId, line }))) return;
    const { id } = await this.orders.placeWith(manager, order);
    await manager.update(ImportLine, { importId, line }, { orderId: id });
  }

  /** Tells whether the line is new. */
  private async addLine(
    manager: EntityManager,
    { importId, line }: Pick<ImportLine, 'importId' | 'line'>,
    end: Partial<ImportLine> = {},
  ): Promise<boolean> {
    const insert = manager.createQueryBuilder().insert().into(ImportLine);
    const { raw: added } = (await insert
      .values({ importId, line, ...end })
      .orIgnore()
      .returning('line')
      .execute()) as { raw: unknown[] };
    return added.length > 0;
  }
}

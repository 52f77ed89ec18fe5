import { Injectable } from '@nestjs/common';
import { In, type EntityManager } from 'typeorm';
import type { OrderItem } from '../orders/order.entity.js';
import { StockItem } from './stock-item.entity.js';

@Injectable()
export class StockService {
  /** @throws OutOfStockException */
  async take(items: readonly OrderItem[], manager: EntityManager): Promise<void> {
    const scarce = await manager.find(StockItem, {
      where: { sku: In(items.map((item) => item.sku)) },
      // Locked in one order, so that two customers never wait for each other.
      order: { sku: 'ASC' },
      lock: { mode: 'pessimistic_write' },
    });
    for (const article of scarce) article.take(quantityOf(article.sku, items));
    await manager.save(scarce);
  }
}

function quantityOf(sku: string, items: readonly OrderItem[]): number {
  return items.filter((item) => item.sku === sku).reduce((sum, item) => sum + item.quantity, 0);
}

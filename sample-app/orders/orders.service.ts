import { Injectable, NotFoundException } from '@nestjs/common';
import { PgQueueProducer } from 'nestjs-pgqueue';
import { DataSource, type EntityManager } from 'typeorm';
import type { SendReceipt } from '../receipts/send-receipt.job.js';
import { StockService } from '../stock/stock.service.js';
import type { CreateOrderDto } from './create-order.dto.js';
import { Order } from './order.entity.js';

export interface PlacedOrder {
  readonly id: number;
  readonly jobId: string;
}

@Injectable()
export class OrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly queue: PgQueueProducer,
    private readonly stock: StockService,
  ) {}

  place(order: CreateOrderDto): Promise<PlacedOrder> {
    return this.dataSource.transaction((manager) => this.placeWith(manager, order));
  }

  /**
   * Saves the order and enqueues its receipt in the manager's transaction: both are there after its commit, or neither.
   * @throws OutOfStockException
   */
  async placeWith(manager: EntityManager, { customer, items }: CreateOrderDto): Promise<PlacedOrder> {
    const order = await manager.save(Order, { customer, items });
    const receipt: SendReceipt = { orderId: order.id };
    const job = await this.queue.enqueue('send_receipt', receipt, { manager });
    await this.stock.take(items, manager);
    return { id: order.id, jobId: job.id };
  }

  /** @throws NotFoundException */
  async find(id: number): Promise<Order> {
    const order = await this.dataSource.manager.findOneBy(Order, { id });
    if (!order) throw new NotFoundException(`There is no order ${id}`);
    return order;
  }
}

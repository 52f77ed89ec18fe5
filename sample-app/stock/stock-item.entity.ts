import { Column, Entity, PrimaryColumn } from 'typeorm';
import { OutOfStockException } from './out-of-stock.exception.js';

/** An article of which there is only so much. Whatever has no row here is made to order. */
@Entity('stock')
export class StockItem {
  @PrimaryColumn('text')
  sku!: string;

  @Column('integer')
  available!: number;

  /** @throws OutOfStockException */
  take(quantity: number): void {
    if (quantity > this.available) throw new OutOfStockException(this.sku, this.available);
    this.available -= quantity;
  }
}

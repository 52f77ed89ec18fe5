import { Expose } from 'class-transformer';
import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

export interface OrderItem {
  readonly sku: string;
  readonly quantity: number;
  readonly price: number;
}

@Entity('orders')
export class Order {
  @PrimaryGeneratedColumn('identity')
  id!: number;

  @Column('text')
  customer!: string;

  @Column('jsonb')
  items!: OrderItem[];

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'receipt_sent_at', nullable: true })
  receiptSentAt!: Date | null;

  @Expose()
  get total(): number {
    // Summed in cents, so that 3 × 0.10 is 0.30.
    const cents = this.items.reduce((sum, item) => sum + item.quantity * Math.round(item.price * 100), 0);
    return cents / 100;
  }
}

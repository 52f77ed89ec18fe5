import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What became of a line: an order, or an error that no second attempt would cure. */
@Entity('import_lines')
export class ImportLine {
  @PrimaryColumn('integer', { name: 'import_id' })
  importId!: number;

  @PrimaryColumn('integer')
  line!: number;

  @Column('integer', { name: 'order_id', nullable: true })
  orderId!: number | null;

  @Column('text', { nullable: true })
  error!: string | null;
}

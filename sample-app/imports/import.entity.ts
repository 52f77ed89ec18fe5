import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('imports')
export class OrderImport {
  @PrimaryGeneratedColumn('identity')
  id!: number;

  /** Orders in the file. */
  @Column('integer')
  total!: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;
}

import type { CreateOrderDto } from '../orders/create-order.dto.js';

/** Payload of an `import_order` job. */
export interface ImportOrder {
  readonly importId: number;
  readonly line: number;
  readonly order: CreateOrderDto;
}

import { ConflictException } from '@nestjs/common';

export class OutOfStockException extends ConflictException {
  constructor(sku: string, available: number) {
    super(`${sku} is out of stock: ${available} left`);
  }
}

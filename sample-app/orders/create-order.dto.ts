import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsEmail,
  IsInt,
  IsNumber,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import type { OrderItem } from './order.entity.js';

export class OrderItemDto implements OrderItem {
  @Matches(/^[A-Za-z0-9-]{1,40}$/, { message: 'sku must be 1 to 40 letters, digits and hyphens' })
  sku!: string;

  @IsInt()
  @Min(1)
  @Max(10_000)
  quantity!: number;

  @IsNumber({ maxDecimalPlaces: 2 })
  @Min(0)
  @Max(1_000_000)
  price!: number;
}

export class CreateOrderDto {
  @IsEmail()
  customer!: string;

  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(100)
  @ValidateNested({ each: true })
  @Type(() => OrderItemDto)
  items!: OrderItemDto[];
}

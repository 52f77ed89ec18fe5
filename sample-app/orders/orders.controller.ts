import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { IdParams } from '../id.params.js';
import { CreateOrderDto } from './create-order.dto.js';
import type { Order } from './order.entity.js';
import { OrdersService, type PlacedOrder } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  place(@Body() order: CreateOrderDto): Promise<PlacedOrder> {
    return this.orders.place(order);
  }

  @Get(':id')
  find(@Param() { id }: IdParams): Promise<Order> {
    return this.orders.find(id);
  }
}

import type { Mail } from '../mail/mailer.js';
import type { Order } from '../orders/order.entity.js';

export function receiptMail(order: Order): Mail {
  const items = order.items.map(({ quantity, sku, price }) => `${quantity} × ${sku} at ${price.toFixed(2)}`);
  return {
    name: String(order.id),
    to: order.customer,
    subject: `Receipt for order ${order.id}`,
    text: ['Thank you for your order.', '', ...items, '', `Total: ${order.total.toFixed(2)}`, ''].join('\n'),
  };
}

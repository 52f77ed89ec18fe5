const ARTICLES = [
  { sku: 'A1', price: '9.50' },
  { sku: 'B2', price: '24.00' },
  { sku: 'C3', price: '3.75' },
  { sku: 'D4', price: '119.99' },
  { sku: 'E5', price: '0.89' },
] as const;

/** A CSV of `count` orders, always the same ones. `orders.csv` holds 1,000. */
export function sampleOrders(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => sampleOrder(index));
  return ['customer,sku,quantity,price', ...lines, ''].join('\n');
}

function sampleOrder(index: number): string {
  const { sku, price } = ARTICLES[index % ARTICLES.length] ?? ARTICLES[0];
  const customer = `customer-${String(index + 1).padStart(5, '0')}@example.org`;
  return `${customer},${sku},${1 + (index % 7)},${price}`;
}

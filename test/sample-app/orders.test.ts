import request from 'supertest';
import { createTestDatabase, eventually, type TestDatabase } from '../support/index.js';
import { createOutbox, openShop, type Outbox, type Shop, startMailServer } from './support/index.js';

const ORDER = { customer: 'ann@example.org', items: [{ sku: 'A1', quantity: 2, price: 9.5 }] };

jest.setTimeout(60_000);

let database: TestDatabase;
let outbox: Outbox;
let shop: Shop | undefined;

beforeEach(async () => {
  [database, outbox] = await Promise.all([createTestDatabase({ empty: true }), createOutbox()]);
});

afterEach(async () => {
  await shop?.close();
  shop = undefined;
  await Promise.all([database.drop(), outbox.remove()]);
});

async function open(env: NodeJS.ProcessEnv = {}): Promise<ReturnType<typeof request>> {
  shop = await openShop({ DATABASE_URL: database.url, OUTBOX_DIR: outbox.path, ...env });
  return request(shop.url);
}

describe('an order', () => {
  it('is saved, and its receipt goes to the outbox', async () => {
    const http = await open();
    const { body: placed } = await http.post('/orders').send(ORDER).expect(201);
    expect(placed).toEqual({ id: 1, jobId: expect.any(String) });

    const order = await eventually(async () => {
      const { body } = await http.get('/orders/1').expect(200);
      return body.receiptSentAt !== null && body;
    });

    expect(order).toMatchObject({ id: 1, ...ORDER, total: 19 });
    expect(new Date(order.receiptSentAt).getTime()).toBeGreaterThanOrEqual(new Date(order.createdAt).getTime());
    const mails = await outbox.mailsOf(1);
    expect(mails).toHaveLength(1);
    expect(mails[0]).toMatch(/^To: ann@example\.org\r?$/m);
    expect(mails[0]).toMatch(/^Subject: Receipt for order 1\r?$/m);
  });

  it('has its receipt sent by the SMTP server that is configured', async () => {
    const mailServer = await startMailServer();
    try {
      const http = await open({ SMTP_URL: mailServer.url });
      await http.post('/orders').send(ORDER).expect(201);
      expect(await mailServer.firstMessage).toContain('Subject: Receipt for order 1');
      await eventually(async () => (await http.get('/orders/1')).body.receiptSentAt !== null);
      expect(mailServer.messages).toHaveLength(1);
      expect(await outbox.orderIds()).toEqual([]);
    } finally {
      await shop?.close();
      await mailServer.stop();
    }
  });

  it('is written together with its job', async () => {
    const http = await open({ WORKER: 'false' });
    const { body: placed } = await http.post('/orders').send(ORDER).expect(201);
    const jobs = await database.query('SELECT id, entrypoint, payload FROM pgqueue.job');
    expect(jobs).toEqual([{ id: placed.jobId, entrypoint: 'send_receipt', payload: { orderId: placed.id } }]);
  });

  it('leaves neither row nor job when its transaction rolls back', async () => {
    const http = await open({ WORKER: 'false' });
    const items = [ORDER.items[0], { sku: 'LIMITED', quantity: 4, price: 1 }];
    const { body } = await http
      .post('/orders')
      .send({ ...ORDER, items })
      .expect(409);
    expect(body.message).toBe('LIMITED is out of stock: 3 left');
    expect(await database.query('SELECT id FROM orders')).toEqual([]);
    expect(await database.query('SELECT id FROM pgqueue.job')).toEqual([]);
    expect(await database.query('SELECT * FROM stock')).toEqual([{ sku: 'LIMITED', available: 3 }]);
  });

  it.each([
    ['customer must be an email', { customer: 'ann' }],
    ['items should not be empty', { items: [] }],
    ['items.0.quantity must not be less than 1', { items: [{ sku: 'A1', quantity: 0, price: 1 }] }],
    ['items.0.price must not be less than 0', { items: [{ sku: 'A1', quantity: 1, price: -1 }] }],
    ['items.0.sku must be 1 to 40 letters, digits and hyphens', { items: [{ sku: '\0', quantity: 1, price: 1 }] }],
  ])('is refused when %s', async (message, mistake) => {
    const http = await open({ WORKER: 'false' });
    const { body } = await http
      .post('/orders')
      .send({ ...ORDER, ...mistake })
      .expect(400);
    expect(body.message).toContain(message);
    expect(await database.query('SELECT id FROM orders')).toEqual([]);
  });

  it('is not found when there is none', async () => {
    const http = await open({ WORKER: 'false' });
    const { body } = await http.get('/orders/7').expect(404);
    expect(body).toEqual({ statusCode: 404, error: 'Not Found', message: 'There is no order 7' });
    await http.get('/orders/2147483648').expect(400);
  });
});

describe('GET /health', () => {
  it('answers while the database does', async () => {
    const http = await open();
    await http.get('/health').expect(200, { status: 'ok' });
  });
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import request from 'supertest';
import { sampleOrders } from '../../sample-app/imports/sample-orders.js';
import { createTestDatabase, eventually, type TestDatabase } from '../support/index.js';
import { createOutbox, openShop, type Outbox, type Shop, untilAllJobsEnded } from './support/index.js';

const TIMEOUT = 60_000;
const HEADER = 'customer,sku,quantity,price';
const ORDERS_CSV = join(__dirname, '../../sample-app/orders.csv');

jest.setTimeout(TIMEOUT);

let database: TestDatabase;
let outbox: Outbox;
const shops: Shop[] = [];

beforeEach(async () => {
  [database, outbox] = await Promise.all([createTestDatabase({ empty: true }), createOutbox()]);
});

afterEach(async () => {
  await Promise.all(shops.splice(0).map((shop) => shop.close()));
  await Promise.all([database.drop(), outbox.remove()]);
});

async function open(env: NodeJS.ProcessEnv = {}): Promise<ReturnType<typeof request>> {
  const shop = await openShop({ DATABASE_URL: database.url, OUTBOX_DIR: outbox.path, ...env });
  shops.push(shop);
  return request(shop.url);
}

const upload = (http: ReturnType<typeof request>, csv: string) =>
  http.post('/imports').set('Content-Type', 'text/csv').send(csv);

describe('an import', () => {
  it('of orders.csv goes to its end', async () => {
    const http = await open();
    const { body: started } = await upload(http, await readFile(ORDERS_CSV, 'utf8')).expect(201);
    expect(started).toMatchObject({ id: 1, total: 1_000 });

    await untilAllJobsEnded(database, { timeout: TIMEOUT });
    const { body: progress } = await http.get('/imports/1').expect(200);
    expect(progress).toEqual({ id: 1, total: 1_000, imported: 1_000, failed: 0, receiptsSent: 1_000, errors: [] });
    expect(new Set(await outbox.orderIds()).size).toBe(1_000);
  });

  it('makes one order of a line whose job is delivered twice', async () => {
    const webOnly = await open({ WORKER: 'false' });
    await upload(webOnly, sampleOrders(50)).expect(201);
    await database.query('INSERT INTO pgqueue.job (entrypoint, payload) SELECT entrypoint, payload FROM pgqueue.job');
    await open();
    await untilAllJobsEnded(database, { timeout: TIMEOUT });
    expect(await database.query('SELECT count(*)::integer FROM orders')).toEqual([{ count: 50 }]);
    expect(await outbox.orderIds()).toHaveLength(50);
  });

  it('tells which lines failed', async () => {
    const http = await open();
    const lines = ['ann@example.org,LIMITED,2,10', 'bob@example.org,LIMITED,4,10', 'cid@example.org,A1,1,9.5'];
    await upload(http, [HEADER, ...lines].join('\n')).expect(201);
    const progress = await eventually(async () => {
      const { body } = await http.get('/imports/1').expect(200);
      return body.receiptsSent + body.failed === 3 && body;
    });
    expect(progress).toMatchObject({ total: 3, imported: 2, failed: 1 });
    expect(progress.errors).toEqual([{ line: 3, error: expect.stringContaining('LIMITED is out of stock') }]);
  });

  it.each([
    ['line 3: customer must be an email', [HEADER, 'ann@example.org,A1,1,2', 'bob,A1,1,2']],
    ['line 2: price must not be less than 0', [HEADER, 'ann@example.org,A1,1,-2']],
    ['line 2: quantity must be an integer number', [HEADER, 'ann@example.org,A1,,2']],
    ['line 2: Invalid Record Length', [HEADER, 'ann@example.org,A1,1']],
    ['line 3: Quote Not Closed', [HEADER, 'ann@example.org,A1,1,2', '"bob@example.org,A1,1,2']],
    ['line 1: there is no column sku, price', ['customer,quantity', 'ann@example.org,1']],
    ['There are no orders in it', [HEADER]],
  ])('is refused as a whole: %s', async (message, lines) => {
    const http = await open({ WORKER: 'false' });
    const { body } = await upload(http, lines.join('\n')).expect(400);
    expect([body.message].flat().join('\n')).toContain(message);
    expect(await database.query('SELECT id FROM imports')).toEqual([]);
    expect(await database.query('SELECT id FROM pgqueue.job')).toEqual([]);
  });

  it('is refused when it is no CSV, and not found when there is none', async () => {
    const http = await open({ WORKER: 'false' });
    await http.post('/imports').send({ customer: 'ann@example.org' }).expect(415);
    await http.get('/imports/7').expect(404);
  });
});

test('orders.csv is what generate-orders.ts makes', async () => {
  expect(await readFile(ORDERS_CSV, 'utf8')).toBe(sampleOrders(1_000));
});

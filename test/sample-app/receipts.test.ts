import request from 'supertest';
import { sampleOrders } from '../../sample-app/imports/sample-orders.js';
import { createTestDatabase, eventually, type TestDatabase } from '../support/index.js';
import { createOutbox, openShop, type Outbox, type Shop, untilAllJobsEnded } from './support/index.js';

const ORDERS = 10_000;
const HEARTBEAT_TIMEOUT = 2_000;
const POLL_INTERVAL = 500;
/** For a busy machine to get a statement and a handler going. */
const LATITUDE = 1_000;
const TIMEOUT = 240_000;

jest.setTimeout(TIMEOUT);

let database: TestDatabase;
let outbox: Outbox;
let shops: [Shop, Shop];

beforeEach(async () => {
  [database, outbox] = await Promise.all([createTestDatabase({ empty: true }), createOutbox()]);
  const env = {
    DATABASE_URL: database.url,
    OUTBOX_DIR: outbox.path,
    HEARTBEAT_TIMEOUT: String(HEARTBEAT_TIMEOUT),
    POLL_INTERVAL: String(POLL_INTERVAL),
  };
  // Both at once, so that they migrate the same database.
  shops = await Promise.all([openShop(env), openShop(env)]);
  const csv = sampleOrders(ORDERS);
  await request(shops[0].url).post('/imports').set('Content-Type', 'text/csv').send(csv).expect(201);
});

afterEach(async () => {
  await Promise.all(shops.map((shop) => shop.close()));
  await Promise.all([database.drop(), outbox.remove()]);
});

test(
  'two workers send each receipt of 10,000 orders exactly once',
  async () => {
    await untilAllJobsEnded(database, { timeout: TIMEOUT });
    await expectAllReceiptsSent();
    expect(await outbox.orderIds()).toHaveLength(ORDERS);
    expect(await database.query('SELECT DISTINCT worker FROM pgqueue.job_log')).toHaveLength(2);
  },
  TIMEOUT,
);

test('no receipt is missing when a worker is killed, and its jobs are soon taken over', async () => {
  const [, victim] = shops;
  await untilSent(ORDERS / 10);
  victim.kill('SIGKILL');
  await victim.exited;
  const killedAt = await databaseTime();
  await untilAllJobsEnded(database, { timeout: TIMEOUT });
  await expectAllReceiptsSent();

  const lost = await jobsLostBy(victim);
  expect(lost.length).toBeGreaterThan(0);
  const takeovers = lost.map(({ retakenAt }) => retakenAt.getTime() - killedAt.getTime());
  expect(Math.max(...takeovers)).toBeLessThan(HEARTBEAT_TIMEOUT + POLL_INTERVAL + LATITUDE);
  // A receipt that it had sent and could not record any more is sent again, and no other.
  expect((await outbox.orderIds()).length).toBeLessThanOrEqual(ORDERS + lost.length);
});

async function untilSent(count: number): Promise<void> {
  const sql = 'SELECT id FROM orders WHERE receipt_sent_at IS NOT NULL OFFSET $1 LIMIT 1';
  await eventually(async () => (await database.query(sql, [count - 1])).length > 0, { timeout: TIMEOUT });
}

async function expectAllReceiptsSent(): Promise<void> {
  const { body: progress } = await request(shops[0].url).get('/imports/1').expect(200);
  expect(progress).toMatchObject({ imported: ORDERS, failed: 0, receiptsSent: ORDERS });
  expect(new Set(await outbox.orderIds()).size).toBe(ORDERS);
}

async function databaseTime(): Promise<Date> {
  const [row] = await database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return row!.now;
}

/** With the times at which their next attempts began. */
function jobsLostBy({ pid }: Shop): Promise<{ retakenAt: Date }[]> {
  return database.query(
    `SELECT next.ended_at - next.duration * interval '1 ms' AS "retakenAt"
     FROM pgqueue.job_log AS lost
       JOIN pgqueue.job_log AS next ON next.job_id = lost.job_id AND next.status <> 'lost' AND next.attempt <= lost.attempt + 1
     WHERE lost.status = 'lost' AND lost.worker LIKE '%' || $1`,
    [pid],
  );
}

import { Client } from 'pg';
import {
  createTestDatabase,
  onPool,
  openSession,
  type Queue,
  queueOn,
  type Session,
  startWorker,
  type TestDatabase,
} from '../support/index.js';

const POLL_NEVER = { pollInterval: 60_000 };

describe('while somebody holds jobs locked, a worker', () => {
  let database: TestDatabase;
  let queue: Queue;
  let rival: Session;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    rival = await openSession(database);
    await rival.begin();
  });
  afterEach(async () => {
    await rival.end();
    await database.drop();
  });

  const work = () => undefined;

  it.each([9, 300])('looks past %i of them for the next one', async (count) => {
    await queue.add(...Array.from({ length: count }, () => ({ priority: 1 })));
    const [free] = await queue.add({});
    expect((await queueOn(rival.db).claim(count)).ids).toHaveLength(count);
    const worker = await startWorker(database.url, { work }, { ...POLL_NEVER, concurrency: 1 });
    expect((await worker.event('claimed')).jobs).toMatchObject([{ id: free }]);
    await worker.event('settled');
    await worker.stop();
  });

  it('has them soon after a rival that held all of them has rolled back', async () => {
    await queue.add(...Array.from({ length: 20 }, () => ({})));
    await queueOn(rival.db).claim(20);
    const worker = await startWorker(database.url, { work }, { ...POLL_NEVER, concurrency: 1 });
    await worker.event('listening');
    await rival.rollback();
    const settled = () => worker.events.flatMap((event) => (event.type === 'settled' ? event.ids : []));
    await worker.event('settled', () => settled().length === 20);
    await worker.stop();
  });

  it('asks the database no faster for a job that is due and locked', async () => {
    const [held, clock] = await queue.add({ delay: 1 }, { entrypoint: 'other', delay: 500 });
    await rival.db.query('select from pgqueue.job where id = $1 for update', [held]);
    const queries = jest.spyOn(Client.prototype, 'query');
    const worker = await startWorker(database.url, { work, other: work }, POLL_NEVER);
    await worker.event('listening');
    await worker.event('settled', ({ ids }) => ids.includes(clock!));
    expect(queries.mock.calls.length).toBeLessThan(100);
    queries.mockRestore();
    await rival.rollback();
    await worker.event('settled', ({ ids }) => ids.includes(held!));
    await worker.stop();
  });
});

import { DataSource } from 'typeorm';
import { createTestDatabase, deferred, startApp, startWorker, type TestDatabase } from '../support/index.js';

describe('a worker', () => {
  let database: TestDatabase;
  beforeEach(async () => (database = await createTestDatabase()));
  afterEach(() => database.drop());

  it('runs a job that was enqueued before it started, and deletes it', async () => {
    const producer = await startApp(database.url, {}, { worker: false });
    const { id } = await producer.queue.enqueue('greet', { name: 'Ann' });
    const seen = deferred<unknown>();
    const worker = await startWorker(database.url, { greet: (job) => seen.resolve(job.payload) });
    expect(await seen.promise).toEqual({ name: 'Ann' });
    await worker.event('settled', ({ ids }) => ids.includes(id));
    expect(await database.query('select from pgqueue.job')).toEqual([]);
    expect(await database.query('select job_id, status, attempt, worker from pgqueue.job_log')).toEqual([
      { job_id: id, status: 'successful', attempt: 1, worker: 'test' },
    ]);
    await worker.stop();
    await producer.close();
    expect(await database.query('select from pgqueue.claim')).toEqual([]);
    expect(producer.dataSource).toBeInstanceOf(DataSource);
  });
});

import { createTestDatabase, deferred, onPool, type Queue, startWorker, type TestDatabase } from '../support/index.js';

const retry = { maxAttempts: 3, delay: 60_000, backoff: 10, maxDelay: 3_600_000, jitter: 0 };

const WAIT = `
  select (extract(epoch from run_at - clock_timestamp()) * 1000)::float8 as wait
  from pgqueue.job where status = 'queued' and attempt = $1`;

describe('a job whose handler throws', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  /** Lets the time come for which jobs wait. */
  const hurry = () =>
    database.query(`with hurried as (update pgqueue.job set run_at = now()) select pg_notify('pgqueue:pgqueue', '')`);

  it('is tried again, later each time, and then held with the error and the stack of each attempt', async () => {
    const [id] = await queue.add({});
    const boom = (attempt: number) => new Error(`boom ${attempt}`, { cause: new Error(`root ${attempt}`) });
    const worker = await startWorker(
      database.url,
      { work: ({ attempt }) => Promise.reject(boom(attempt)) },
      { defaults: { retry } },
    );
    for (const [attempt, delay] of [
      [1, 60_000],
      [2, 600_000],
    ] as const) {
      const { outcome } = await worker.event('ended', ({ job }) => job.attempt === attempt);
      expect(outcome).toMatchObject({ type: 'retried', delay });
      await worker.event('settled', () => worker.events.filter(({ type }) => type === 'settled').length === attempt);
      const [row] = await database.query<{ wait: number }>(WAIT, [attempt]);
      expect(row?.wait).toBeGreaterThan(delay - 10_000);
      expect(row?.wait).toBeLessThanOrEqual(delay);
      await hurry();
    }
    expect(await worker.event('ended', ({ outcome }) => outcome.type === 'failed')).toMatchObject({
      job: { attempt: 3 },
    });
    await worker.stop();
    expect(await database.query('select id, status, attempt, max_attempts, claim_id from pgqueue.job')).toEqual([
      { id, status: 'failed', attempt: 3, max_attempts: 3, claim_id: null },
    ]);
    const logged = await database.query(
      'select attempt, status, error, stack, worker from pgqueue.job_log order by attempt',
    );
    expect(logged).toEqual(
      [1, 2, 3].map((attempt) => ({
        attempt,
        status: attempt === 3 ? 'failed' : 'retried',
        error: `Error: boom ${attempt}`,
        stack: expect.stringMatching(
          new RegExp(`^Error: boom ${attempt}\\n[^]*\\nCaused by: Error: root ${attempt}\\n`),
        ),
        worker: 'test',
      })),
    );
  });

  it('has the attempts that were enqueued with it, not those of its entrypoint', async () => {
    await queue.add({ maxAttempts: 1 });
    const worker = await startWorker(
      database.url,
      { work: () => Promise.reject(new Error('no')) },
      { defaults: { retry } },
    );
    expect((await worker.event('ended')).outcome.type).toBe('failed');
    await worker.stop();
  });

  it('is tried again at once when there is no delay', async () => {
    await queue.add({});
    const worker = await startWorker(
      database.url,
      { work: ({ attempt }) => (attempt < 3 ? Promise.reject(new Error('no')) : 'yes') },
      { notify: false, pollInterval: 60_000, defaults: { retry: { ...retry, delay: 0 } } },
    );
    await worker.event('ended', ({ job, outcome }) => job.attempt === 3 && outcome.type === 'successful');
    await worker.stop();
  });

  it.each<[string, () => unknown, string]>([
    [
      'synchronously',
      () => {
        throw new RangeError('sync');
      },
      'RangeError: sync',
    ],
    ['nothing', () => rejected(undefined), 'undefined'],
    ['a string', () => rejected('out of paper'), 'out of paper'],
    ['U+0000', () => Promise.reject(new Error('a\0b')), 'Error: a\u2400b'],
    ['half a character', () => Promise.reject(new Error('a\ud800b')), 'Error: a\ufffdb'],
    [
      'in the then of a thenable',
      () => ({
        then: () => {
          throw new Error('then');
        },
      }),
      'Error: then',
    ],
    [
      'by the getter of its then',
      () =>
        Object.defineProperty({}, 'then', {
          get: () => {
            throw new Error('get');
          },
        }),
      'Error: get',
    ],
  ])('is recorded when it throws %s', async (_, run, error) => {
    await queue.add({ maxAttempts: 1 });
    const worker = await startWorker(database.url, { work: run });
    await worker.event('settled');
    await worker.stop();
    expect(await database.query('select status, error from pgqueue.job_log')).toEqual([{ status: 'failed', error }]);
  });
});

function rejected(reason: unknown): Promise<void> {
  const { promise, reject } = deferred();
  reject(reason);
  return promise;
}

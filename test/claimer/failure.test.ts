import { FailJob, JobTimeout, RetryJob } from '../../lib/index.js';
import { deferred, useWorkerGround } from '../support/index.js';

const retry = { maxAttempts: 2, delay: 60_000, jitter: 0 };
const LOG = 'select attempt, status, error, result from pgqueue.job_log order by ended_at, attempt';
const JOBS = 'select status, wait, attempt, claim_id from pgqueue.job';

describe('a handler that throws', () => {
  const ground = useWorkerGround();
  const run = async (handler: () => unknown, defaults = {}) => {
    const worker = await ground.start({ work: handler }, { defaults: { retry, ...defaults } });
    const { outcomes } = await worker.event('settled');
    await worker.stop();
    return outcomes;
  };
  const wait = async () => {
    const sql = 'select (extract(epoch from run_at - clock_timestamp()) * 1000)::float8 as ms from pgqueue.job';
    return (await ground.database.query<{ ms: number }>(sql))[0]?.ms;
  };

  it('RetryJob runs again when it says, without having spent the attempt, also the last', async () => {
    await ground.queue.add({ maxAttempts: 1 });
    const outcomes = await run(() => {
      throw new RetryJob({ delay: 3_600_000, reason: 'The bank is closed' });
    });
    expect(outcomes).toEqual(['retried']);
    expect(await ground.database.query(JOBS)).toEqual([
      { status: 'queued', wait: 'later', attempt: 0, claim_id: null },
    ]);
    expect(await wait()).toBeGreaterThan(3_500_000);
    const error = 'RetryJob: The bank is closed';
    expect(await ground.database.query(LOG)).toEqual([{ attempt: 1, status: 'retried', error, result: null }]);
  });

  it('RetryJob without a delay runs again after that of its policy', async () => {
    await ground.queue.add({});
    await run(() => Promise.reject(new RetryJob()));
    expect(await wait()).toBeGreaterThan(50_000);
    expect(await wait()).toBeLessThanOrEqual(60_000);
  });

  it('a RetryJob or FailJob of another copy of the package is understood', async () => {
    await ground.queue.add({}, {});
    const errors = [{ code: 'PGQUEUE_FAIL_JOB' }, { code: 'PGQUEUE_RETRY_JOB', delay: 'soon' }];
    const worker = await ground.start(
      { work: ({ id }) => Promise.reject(Object.assign(new Error('other'), errors[Number(id) - 1])) },
      { defaults: { retry } },
    );
    await worker.event('settled', () => worker.events.flatMap((e) => (e.type === 'settled' ? e.ids : [])).length === 2);
    await worker.stop();
    const rows = await ground.database.query('select id, status, attempt from pgqueue.job order by id');
    expect(rows).toEqual([
      { id: '1', status: 'failed', attempt: 1 },
      { id: '2', status: 'queued', attempt: 0 },
    ]);
  });

  it('something that can not be read, is tried again by its policy', async () => {
    await ground.queue.add({});
    class Unreadable extends Error {
      readonly code = 'PGQUEUE_RETRY_JOB';
      get delay(): number {
        throw new Error('no');
      }
    }
    expect(await run(() => Promise.reject(new Unreadable()))).toEqual(['retried']);
    expect(await wait()).toBeGreaterThan(50_000);
  });

  it.each([NaN, -1, Infinity, '5', {}])('RetryJob refuses a delay of %p', (delay) => {
    expect(() => new RetryJob({ delay: delay as number })).toThrow('RetryJob.delay is');
  });

  it('FailJob ends the job now, and it is held', async () => {
    await ground.queue.add({});
    expect(await run(() => Promise.reject(new FailJob('no such order', { cause: new Error('404') })))).toEqual([
      'failed',
    ]);
    expect(await ground.database.query(JOBS)).toMatchObject([{ status: 'failed', attempt: 1 }]);
    expect(await ground.database.query(LOG)).toMatchObject([{ status: 'failed', error: 'FailJob: no such order' }]);
  });

  it("is dropped after its last failure with onFailure: 'drop', and the log says exception", async () => {
    await ground.queue.add({ maxAttempts: 1 });
    expect(await run(() => Promise.reject(new Error('no')), { onFailure: 'drop' })).toEqual(['exception']);
    expect(await ground.database.query(JOBS)).toEqual([]);
    expect(await ground.database.query(LOG)).toMatchObject([{ status: 'exception', error: 'Error: no' }]);
  });
});

describe('a handler that takes longer than its timeout', () => {
  const ground = useWorkerGround();

  it('has failed at once, is told by its signal, and its late result counts for nothing', async () => {
    await ground.queue.add({ maxAttempts: 1 });
    const end = deferred();
    let reason: unknown;
    const worker = await ground.start(
      {
        work: (_, { signal }) => {
          signal.addEventListener('abort', () => (reason = signal.reason));
          return end.promise;
        },
      },
      { concurrency: 1, defaults: { timeout: 200 } },
    );
    const { job } = await worker.event('ended');
    expect(await worker.event('settled')).toMatchObject({ ids: [job.id], outcomes: ['failed'] });
    expect(reason).toBeInstanceOf(JobTimeout);
    // Its slot is free, though it goes on.
    await ground.queue.add('work');
    await worker.event('claimed', ({ jobs }) => jobs[0]?.id !== job.id);
    end.resolve();
    await worker.event('settled', ({ outcomes }) => outcomes.includes('successful'));
    await worker.stop();
    expect(worker.events.filter(({ type }) => type === 'ended')).toHaveLength(2);
    expect(worker.events.filter(({ type }) => type === 'refused')).toHaveLength(0);
    const error = 'JobTimeout: The handler did not end within its timeout of 200 ms';
    expect(await ground.database.query(LOG)).toMatchObject([{ status: 'failed', error }, { status: 'successful' }]);
    const [{ duration } = { duration: NaN }] = await ground.database.query<{ duration: number }>(
      'select duration from pgqueue.job_log',
    );
    expect(duration).toBeGreaterThanOrEqual(199);
    expect(duration).toBeLessThan(1_000);
  });

  it('is tried again by its policy', async () => {
    await ground.queue.add({});
    const worker = await ground.start(
      { work: ({ attempt }) => (attempt === 1 ? new Promise(() => undefined) : attempt) },
      { defaults: { timeout: 50, retry: { delay: 0 } } },
    );
    await worker.event('settled', ({ outcomes }) => outcomes.includes('successful'));
    await worker.stop();
    expect(await ground.log()).toEqual([
      { attempt: 1, status: 'retried' },
      { attempt: 2, status: 'successful' },
    ]);
  });
});

describe('a job that is canceled while it runs', () => {
  const ground = useWorkerGround();
  /** As an operator does, with or without a word to the workers. */
  const cancel = (payload?: string) =>
    ground.database.query(
      `with canceled as (update pgqueue.job set cancel_requested = true returning id)
       select count(*), count(case when $1::text <> '' then pg_notify('pgqueue:pgqueue', $1::text) end) from canceled`,
      [payload ?? ''],
    );
  const untilAborted = (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

  it.each([
    ['by a notification', { heartbeatTimeout: 120_000, pollInterval: 60_000 }, 'canceled'],
    ['by its next beat, without notifications', { heartbeatTimeout: 1_000, notify: false }, undefined],
  ])('is told by its signal: %s, and does not run again', async (_, options, word) => {
    await ground.queue.add({}, { maxAttempts: 1 });
    const worker = await ground.start({ work: untilAborted }, options);
    if (word !== undefined) await worker.event('listening');
    await worker.event('claimed');
    const canceledAt = performance.now();
    await cancel(word);
    const all = () => worker.events.flatMap((event) => (event.type === 'settled' ? event.outcomes : []));
    await worker.event('settled', () => all().length === 2);
    expect(performance.now() - canceledAt).toBeLessThan(2_000);
    await worker.stop();
    expect(all()).toEqual(['canceled', 'canceled']);
    expect(await ground.database.query(JOBS)).toEqual([]);
    const error = expect.stringMatching(/^JobCanceled: Job \d was canceled$/) as string;
    expect(await ground.database.query(LOG)).toMatchObject(Array(2).fill({ attempt: 1, status: 'canceled', error }));
  });

  it('is successful when it ignores that and ends well', async () => {
    await ground.queue.add({});
    const end = deferred();
    const worker = await ground.start({ work: () => end.promise });
    await worker.event('claimed');
    await cancel('canceled');
    end.resolve();
    expect(await worker.event('settled')).toMatchObject({ outcomes: ['successful'] });
    await worker.stop();
  });

  it('is canceled when its worker gives it back, or asks for another try, before it has heard of it', async () => {
    await ground.queue.add({}, {});
    const claim = await ground.queue.claim(2);
    await cancel();
    const error = { message: 'no', stack: null };
    await ground.queue.settle(claim, { type: 'released' }, claim.ids.slice(0, 1));
    await ground.queue.settle(claim, { type: 'retried', delay: 0, error }, claim.ids.slice(1));
    expect(await ground.database.query(JOBS)).toEqual([]);
    expect((await ground.log()).map(({ status }) => status)).toEqual(['canceled', 'canceled']);
  });

  it('is canceled when its worker has died', async () => {
    await ground.queue.add({});
    await ground.queue.claim(1);
    await cancel();
    await ground.database.query(`update pgqueue.claim set heartbeat_at = '-infinity'`);
    expect(await ground.queue.dissolve()).toMatchObject([{ outcome: 'canceled' }]);
    expect(await ground.database.query(JOBS)).toEqual([]);
    expect((await ground.log()).map(({ status }) => status)).toEqual(['canceled']);
  });
});

describe('what a handler returns', () => {
  const ground = useWorkerGround();

  it('may be a promise with a then of its own', async () => {
    await ground.queue.add({});
    const own = Object.assign(Promise.resolve(1), {
      then: () => {
        throw new Error('no');
      },
    });
    const worker = await ground.start({ work: () => own });
    expect((await worker.event('settled')).outcomes).toEqual(['successful']);
    expect(await ground.database.query(LOG)).toMatchObject([{ status: 'successful', result: 1 }]);
  });

  it.each<[string, unknown, unknown, RegExp | null]>([
    ['nothing', undefined, null, null],
    ['null', null, null, null],
    [
      'an object',
      { a: [1, 'é\u0000\ud800', new Date(0)] },
      { a: [1, 'é\u0000\ud800', '1970-01-01T00:00:00.000Z'] },
      null,
    ],
    ['a function', () => 1, null, null],
    ['something that is circular', circular(), null, /^The result is not kept, as it can't be written as JSON/],
    ['a bigint', 1n, null, /BigInt/],
    ['what is too large', 'x'.repeat(5_000_000), null, /^The result is not kept: more than 1048576 bytes of JSON$/],
    ['a large Buffer', Buffer.alloc(50_000_000), null, /^The result is not kept: more than 1048576 bytes of JSON$/],
    ['what is large in bytes only', 'é'.repeat(600_000), null, /^The result is not kept: more than 1048576 bytes/],
    ['what nests too deep', deep(1_001), null, /^The result is not kept: more than 1000 levels of JSON$/],
  ])('is kept as JSON when it can be: %s', async (_, value, result, note) => {
    await ground.queue.add({});
    const worker = await ground.start({ work: () => value });
    await worker.event('settled');
    await worker.stop();
    const [row] = await ground.database.query<{ result: unknown; error: string | null; status: string }>(LOG);
    expect(row).toMatchObject({ status: 'successful', result });
    if (note === null) expect(row?.error).toBeNull();
    else expect(row?.error).toMatch(note);
  });
});

function circular(): unknown {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}

function deep(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels));
}

import { RetryJob } from 'nestjs-pgqueue';
import { deferred, FAILED, makeStale, RELEASED, SUCCESSFUL } from '../../support/index.js';
import { HOUR, RETRIED, useAdminGround } from './support.js';

describe('cancel()', () => {
  const ground = useAdminGround();

  it('ends what waits or has failed, and marks what runs', async () => {
    const admin = await ground.admin();
    const [failed] = await ground.addFailed({});
    const picked = await ground.addPicked({});
    const [queued, delayed] = await ground.queue.add({}, { delay: HOUR });
    const canceled = [delayed!, failed!, queued!];
    expect(await admin.cancel([delayed!, picked.ids[0]!, failed!, queued!])).toEqual({
      canceled,
      requested: picked.ids,
    });
    expect(await ground.statuses()).toEqual({ [picked.ids[0]!]: 'picked' });
    const ends = await ground.ends();
    expect(ends.filter(([, status]) => status === 'canceled').map(([id]) => id)).toEqual(canceled.toSorted());
  });

  it('changes nothing when it is repeated, nor for ids that nobody knows', async () => {
    const admin = await ground.admin();
    const [queued] = await ground.queue.add({});
    const { ids } = await ground.addPicked({ priority: 1 });
    await admin.cancel([queued!, ...ids]);
    expect(await admin.cancel([queued!, ...ids, '9223372036854775807'])).toEqual({ canceled: [], requested: [] });
    expect(await admin.cancel([])).toEqual({ canceled: [], requested: [] });
    expect(await ground.ends()).toEqual([[queued, 'canceled']]);
  });

  it('takes any number of ids, each once', async () => {
    const admin = await ground.admin();
    const ids = await ground.queue.add(...Array.from({ length: 2_500 }, () => ({})));
    const strangers = Array.from({ length: 97_500 }, (_, index) => String(1_000_000 + index));
    const { canceled } = await admin.cancel([...ids, ...strangers, ...ids]);
    expect(canceled).toEqual(ids);
    expect(await ground.ends()).toHaveLength(2_500);
  });

  it.each([
    ['retried', RETRIED, 'canceled'],
    ['released', RELEASED, 'canceled'],
    ['failed', FAILED, 'canceled'],
    ['successful', SUCCESSFUL, 'successful'],
  ] as const)('makes of a running job that is then %s one that has ended', async (_, outcome, end) => {
    const admin = await ground.admin();
    const claim = await ground.addPicked({});
    await admin.cancel(claim.ids);
    await ground.queue.settle(claim, outcome);
    expect(await ground.statuses()).toEqual({});
    expect(await ground.ends()).toEqual([[claim.ids[0], end]]);
  });

  it('ends a running job whose worker has died', async () => {
    const admin = await ground.admin();
    const claim = await ground.addPicked({});
    await admin.cancel(claim.ids);
    await makeStale(ground.database, claim);
    await ground.queue.dissolve();
    expect(await ground.statuses()).toEqual({});
    expect(await ground.ends()).toEqual([[claim.ids[0], 'canceled']]);
  });
});

describe('the handler of a job that is canceled', () => {
  const ground = useAdminGround();
  const SLOW_BEAT = { heartbeatTimeout: 60_000, pollInterval: 60_000 };
  const QUICK_BEAT = { heartbeatTimeout: 1_000, notify: false };

  /** A worker whose handler runs a job, and then ends as `end` says when its signal aborts. */
  async function runJob(options: object, end: (signal: AbortSignal) => unknown, maxAttempts = 5) {
    const running = deferred();
    const aborted = deferred<unknown>();
    const work = async (_: unknown, { signal }: { signal: AbortSignal }) => {
      running.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      aborted.resolve(signal.reason);
      return end(signal);
    };
    const worker = await ground.start({ work }, options);
    if (options === SLOW_BEAT) await worker.event('listening');
    const [id = ''] = await ground.queue.add({ maxAttempts });
    await running.promise;
    return { id, worker, aborted: aborted.promise };
  }

  const rethrow = (signal: AbortSignal) => {
    throw signal.reason as Error;
  };
  const fail = () => {
    throw new Error('interrupted');
  };
  const comeAgain = () => {
    throw new RetryJob({ delay: 60_000 });
  };

  it('is aborted by a notification, long before the next beat', async () => {
    const admin = await ground.admin();
    const { id, worker, aborted } = await runJob(SLOW_BEAT, rethrow);
    const before = performance.now();
    expect(await admin.cancel([id])).toEqual({ canceled: [], requested: [id] });
    expect(await aborted).toMatchObject({ code: 'PGQUEUE_JOB_CANCELED', jobId: id });
    expect(performance.now() - before).toBeLessThan(1_000);
    await worker.event('settled', ({ outcomes }) => outcomes.includes('canceled'));
    expect(await ground.statuses()).toEqual({});
    expect((await admin.job(id))!.attempts).toMatchObject([{ attempt: 1, status: 'canceled', worker: 'test' }]);
  });

  it('is aborted at the next beat without notifications', async () => {
    const admin = await ground.admin({ notify: false });
    const { id, worker, aborted } = await runJob(QUICK_BEAT, rethrow);
    await admin.cancel([id]);
    expect(await aborted).toMatchObject({ code: 'PGQUEUE_JOB_CANCELED' });
    await worker.event('settled', ({ outcomes }) => outcomes.includes('canceled'));
  });

  it.each([
    ['throws something else', fail, 5],
    ['throws at its last attempt', fail, 1],
    ['asks for another try', comeAgain, 5],
  ])('ends as canceled when it %s', async (_, end, maxAttempts) => {
    const admin = await ground.admin();
    const { id, worker } = await runJob(SLOW_BEAT, end, maxAttempts);
    await admin.cancel([id]);
    await worker.event('settled', ({ outcomes }) => outcomes.includes('canceled'));
    expect(await ground.statuses()).toEqual({});
    expect(await ground.ends()).toEqual([[id, 'canceled']]);
  });

  it('ends as successful when it returns', async () => {
    const admin = await ground.admin();
    const { id, worker } = await runJob(SLOW_BEAT, () => 'done all the same');
    await admin.cancel([id]);
    await worker.event('settled', ({ outcomes }) => outcomes.includes('successful'));
    expect(await admin.job(id)).toMatchObject({
      status: 'successful',
      job: undefined,
      attempts: [{ result: 'done all the same' }],
    });
  });
});

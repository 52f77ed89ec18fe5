import { FAILED } from '../../support/index.js';
import { DELAYED, HOUR, RETRIED, useAdminGround } from './support.js';

describe('counts()', () => {
  const ground = useAdminGround();

  it('has each entrypoint with its jobs by status, and those that are paused', async () => {
    const admin = await ground.admin();
    await ground.addFailed({}, {});
    await ground.addPicked({});
    await ground.queue.settle(await ground.addPicked({}), DELAYED);
    await ground.queue.add({}, {}, { delay: HOUR }, { entrypoint: 'other' });
    await admin.pause('idle');
    const NONE = { queued: 0, delayed: 0, picked: 0, failed: 0, pausedAt: undefined };
    expect(await admin.counts()).toEqual([
      { ...NONE, entrypoint: 'idle', pausedAt: expect.any(Date) },
      { ...NONE, entrypoint: 'other', queued: 1 },
      { ...NONE, entrypoint: 'work', queued: 4, delayed: 2, picked: 1, failed: 2 },
    ]);
  });

  it('takes a job for due whose time has come, although no worker has looked yet', async () => {
    const admin = await ground.admin();
    await ground.queue.add({ delay: HOUR });
    await ground.database.query(`update pgqueue.job set run_at = clock_timestamp() - interval '1 s'`);
    expect(await admin.counts()).toMatchObject([{ queued: 1, delayed: 0 }]);
  });
});

describe('jobs()', () => {
  const ground = useAdminGround();

  it('has the newest first, with all that the row says', async () => {
    const admin = await ground.admin();
    const [failed = ''] = await ground.addFailed({ dedupeKey: 'a', payload: '{"a":"\\u0000"}', maxAttempts: 1 });
    const { claimId, ids } = await ground.addPicked({ headers: '{"trace":1}', priority: 3 });
    const [queued = ''] = await ground.queue.add({ payload: 'null' });
    const before = { id: queued, entrypoint: 'work', status: 'queued', attempt: 0, payload: null, headers: {} };
    expect(await admin.jobs()).toEqual([
      expect.objectContaining({ ...before, maxAttempts: undefined, lastError: undefined, claimId: undefined }),
      expect.objectContaining({
        id: ids[0],
        status: 'picked',
        attempt: 1,
        claimId,
        headers: { trace: 1 },
        priority: 3,
      }),
      expect.objectContaining({ id: failed, status: 'failed', dedupeKey: 'a', payload: { a: '\0' }, maxAttempts: 1 }),
    ]);
    const [, , { lastError, createdAt, runAt } = {}] = await admin.jobs();
    expect(lastError).toBe('Error: no');
    expect([createdAt, runAt]).toEqual([expect.any(Date), expect.any(Date)]);
  });

  it.each([
    [{ status: 'queued' }, ['q', 'o']],
    [{ status: 'picked' }, ['p']],
    [{ status: 'failed' }, ['f']],
    [{ entrypoint: 'work' }, ['q', 'p', 'f']],
    [{ entrypoint: 'other', status: 'queued' }, ['o']],
    [{ entrypoint: 'work', dedupeKey: 'a' }, ['q', 'f']],
    [{ entrypoint: 'work', dedupeKey: 'a', status: 'failed' }, ['f']],
    [{ entrypoint: 'none' }, []],
    [{ status: undefined, limit: undefined }, ['q', 'o', 'p', 'f']],
  ] as const)('has those that fit %j', async (filter, expected) => {
    const admin = await ground.admin();
    await ground.addFailed({ dedupeKey: 'a', payload: '"f"' });
    await ground.addPicked({ payload: '"p"' });
    await ground.queue.add({ entrypoint: 'other', payload: '"o"' });
    await ground.queue.add({ dedupeKey: 'a', payload: '"q"' });
    expect((await admin.jobs(filter)).map(({ payload }) => payload)).toEqual(expected);
  });

  it('has each job on one page, whatever is enqueued between two', async () => {
    const admin = await ground.admin();
    const ids = await ground.queue.add(...Array.from({ length: 25 }, () => ({})));
    const seen: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await admin.jobs({ limit: 10, after });
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
      after = page.at(-1)!.id;
      await ground.queue.add({});
    }
    expect(seen).toEqual(ids.toReversed());
  });

  it('has 100 unless it is told otherwise', async () => {
    const admin = await ground.admin();
    await ground.queue.add(...Array.from({ length: 101 }, () => ({})));
    expect(await admin.jobs()).toHaveLength(100);
    expect(await admin.jobs({ limit: 1_000 })).toHaveLength(101);
  });

  it('has ids beyond 2^53, exactly', async () => {
    const admin = await ground.admin();
    await ground.database.query('alter table pgqueue.job alter column id restart with 9007199254740993');
    const ids = await ground.queue.add({}, {});
    expect((await admin.jobs({ after: '9007199254740994' })).map(({ id }) => id)).toEqual(['9007199254740993']);
    expect(await admin.cancel(ids)).toEqual({ canceled: ids, requested: [] });
  });
});

describe('job()', () => {
  const ground = useAdminGround();

  it('has the row and each attempt, the oldest first', async () => {
    const admin = await ground.admin();
    const claim = await ground.addPicked({ payload: '[1]' });
    await ground.queue.settle(claim, RETRIED);
    await ground.queue.settle(await ground.queue.claim(1), FAILED);
    const [id = ''] = claim.ids;
    const details = await admin.job(id);
    expect(details).toMatchObject({ id, entrypoint: 'work', status: 'failed', job: { id, attempt: 2, payload: [1] } });
    const attempt = { worker: 'test', error: 'Error: no', stack: 'Error: no\n    at here', duration: 1 };
    expect(details!.attempts).toEqual([
      {
        ...attempt,
        attempt: 1,
        status: 'retried',
        stack: undefined,
        claimId: claim.claimId,
        endedAt: expect.any(Date),
      },
      { ...attempt, attempt: 2, status: 'failed', claimId: expect.any(String), endedAt: expect.any(Date) },
    ]);
  });

  it.each([
    ['what its handler returned', '{"a":["\\u0000"]}', { a: ['\0'] }],
    ['null', 'null', null],
    ['nothing', null, undefined],
  ])('has of a job that has ended the log alone, with %s', async (_, json, result) => {
    const admin = await ground.admin();
    const claim = await ground.addPicked({});
    await ground.queue.settle(claim, { type: 'successful', result: { json } });
    const details = await admin.job(claim.ids[0]!);
    expect(details).toMatchObject({ entrypoint: 'work', status: 'successful', job: undefined });
    expect(details!.attempts.map((attempt) => attempt.result)).toEqual([result]);
  });

  it('has the last 100 attempts', async () => {
    const admin = await ground.admin();
    const [id = ''] = await ground.queue.add({});
    await ground.database.query(
      `insert into pgqueue.job_log (job_id, entrypoint, attempt, status) select $1, 'work', n, 'retried' from generate_series(1, 150) n`,
      [id],
    );
    const { attempts = [] } = (await admin.job(id)) ?? {};
    expect([attempts.length, attempts[0]?.attempt, attempts.at(-1)?.attempt]).toEqual([100, 51, 150]);
  });

  it('is undefined when nobody knows the id', async () => {
    expect(await (await ground.admin()).job('4711')).toBeUndefined();
  });
});

import { HOUR, useAdminGround } from './support.js';

describe('requeue()', () => {
  const ground = useAdminGround();
  const POLL_NEVER = { pollInterval: 60_000 };

  it('gives a failed job all its attempts again, now, and wakes a worker', async () => {
    const admin = await ground.admin();
    const [id = ''] = await ground.addFailed({ maxAttempts: 1 });
    const worker = await ground.start(undefined, POLL_NEVER);
    await worker.event('listening');
    expect(await admin.requeue([id])).toEqual({ requeued: [id], conflicts: [] });
    const { jobs } = await worker.event('claimed');
    expect(jobs).toMatchObject([{ id, attempt: 1, maxAttempts: 1 }]);
    await worker.event('settled');
    expect(await ground.ends()).toEqual([
      [id, 'failed'],
      [id, 'successful'],
    ]);
  });

  it('leaves jobs alone that have not failed, and changes nothing when it is repeated', async () => {
    const admin = await ground.admin();
    const [failed = ''] = await ground.addFailed({});
    const { ids } = await ground.addPicked({ maxAttempts: 7 });
    const [delayed = ''] = await ground.queue.add({ delay: HOUR });
    const all = [delayed, ...ids, failed, '4711'];
    expect(await admin.requeue(all)).toEqual({ requeued: [failed], conflicts: [] });
    expect(await admin.requeue(all)).toEqual({ requeued: [], conflicts: [] });
    expect(await ground.statuses()).toEqual({ [failed]: 'queued', [delayed]: 'queued', [ids[0]!]: 'picked' });
    expect((await admin.job(delayed))!.job!.runAt.getTime()).toBeGreaterThan(Date.now());
  });

  it('reports a job whose key was taken, and requeues the others', async () => {
    const admin = await ground.admin();
    const [taken = '', free = '', plain = ''] = await ground.addFailed({ dedupeKey: 'a' }, { dedupeKey: 'b' }, {});
    await ground.queue.add({ dedupeKey: 'a' });
    expect(await admin.requeue([plain, taken, free])).toEqual({ requeued: [plain, free], conflicts: [taken] });
    expect(await admin.requeue([plain, taken, free])).toEqual({ requeued: [], conflicts: [taken] });
    expect(await ground.statuses()).toMatchObject({ [taken]: 'failed', [free]: 'queued' });
  });

  it('runs the first of several with one key, and another of the same key of another entrypoint', async () => {
    const admin = await ground.admin();
    const [first = ''] = await ground.addFailed({ dedupeKey: 'a' });
    const [second = ''] = await ground.addFailed({ dedupeKey: 'a' });
    const [other = ''] = await ground.queue.add({ entrypoint: 'other', dedupeKey: 'a' });
    await ground.database.query(`update pgqueue.job set status = 'failed' where id = $1`, [other]);
    expect(await admin.requeue([second, first, other])).toEqual({ requeued: [second, other], conflicts: [first] });
  });

  it('takes more jobs than one statement does', async () => {
    const admin = await ground.admin();
    const ids = await ground.queue.add(...Array.from({ length: 2_500 }, () => ({})));
    await ground.database.query(`update pgqueue.job set status = 'failed', attempt = 5`);
    expect(await admin.requeue(ids)).toEqual({ requeued: ids, conflicts: [] });
    const [row] = await ground.database.query(`select from pgqueue.job where status <> 'queued' or attempt <> 0`);
    expect(row).toBeUndefined();
  });
});

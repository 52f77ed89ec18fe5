import { useAdminGround } from './support.js';

describe('remove()', () => {
  const ground = useAdminGround();

  it('deletes what does not run, reports what does, and leaves the log', async () => {
    const admin = await ground.admin();
    const [failed = ''] = await ground.addFailed({});
    const { ids } = await ground.addPicked({});
    const [queued = '', other = ''] = await ground.queue.add({}, {});
    const all = [...ids, queued, failed, '4711'];
    expect(await admin.remove(all)).toEqual({ removed: [queued, failed], running: ids });
    expect(await admin.remove(all)).toEqual({ removed: [], running: ids });
    expect(await ground.statuses()).toEqual({ [ids[0]!]: 'picked', [other]: 'queued' });
    const ends = await ground.ends();
    expect(ends).toHaveLength(3);
    expect(ends).toEqual(
      expect.arrayContaining([
        [failed, 'failed'],
        [failed, 'deleted'],
        [queued, 'deleted'],
      ]),
    );
  });

  it('frees the key of a job', async () => {
    const admin = await ground.admin();
    const [id = ''] = await ground.queue.add({ dedupeKey: 'a' });
    await admin.remove([id]);
    expect(await ground.queue.add({ dedupeKey: 'a' })).not.toEqual([id]);
  });
});

describe('clear()', () => {
  const ground = useAdminGround();

  /** One job of each status for each entrypoint. */
  async function addAll() {
    for (const entrypoint of ['work', 'other']) {
      await ground.queue.add({ entrypoint }, { entrypoint }, { entrypoint });
      await ground.database.query(
        `update pgqueue.job set status = 'failed' where id = (select max(id) from pgqueue.job where entrypoint = $1)`,
        [entrypoint],
      );
      await ground.queue.claim(1, { entrypoints: [entrypoint] });
    }
  }

  it.each([
    ['everything that does not run', {}, 4],
    ['a status', { status: 'queued' }, 2],
    ['an entrypoint', { entrypoint: 'work' }, 2],
    ['both', { status: 'failed', entrypoint: 'other' }, 1],
    ['what is not there', { entrypoint: 'none' }, 0],
  ] as const)('deletes %s, and tells how many', async (_, filter, count) => {
    const admin = await ground.admin();
    await addAll();
    expect(await admin.clear(filter)).toBe(count);
    expect(await admin.clear(filter)).toBe(0);
    expect(Object.keys(await ground.statuses())).toHaveLength(6 - count);
    expect((await ground.ends()).map(([, status]) => status)).toEqual(Array<string>(count).fill('deleted'));
  });

  it('deletes thousands in many transactions', async () => {
    const admin = await ground.admin();
    await ground.queue.add(...Array.from({ length: 3_500 }, () => ({})));
    expect(await admin.clear({ status: 'queued' })).toBe(3_500);
    const sizes = await ground.database.query<{ count: string }>('select count(*) from pgqueue.job_log group by xmin');
    expect(sizes.map(({ count }) => Number(count)).toSorted((a, b) => a - b)).toEqual([500, 1_000, 1_000, 1_000]);
  });
});

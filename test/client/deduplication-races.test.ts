import type { EntityManager } from 'typeorm';
import {
  deferred,
  eventually,
  openSession,
  type Session,
  SUCCESSFUL,
  queueOn,
  useWorkerGround,
} from '../support/index.js';
import type { NewJob } from '../../lib/sql/enqueue.js';

const KEYED = { dedupeKey: 'a' } as const;
const POLICIES = ['skip', 'raise', 'replace'] as const;

describe('two transactions that take one dedupeKey', () => {
  let a: Session;
  let b: Session;
  afterEach(() => Promise.all([a.end(), b.end()])); // before the database goes
  const ground = useWorkerGround();
  beforeEach(async () => {
    [a, b] = await Promise.all([openSession(ground.database), openSession(ground.database)]);
  });

  const waits = (pid: number) =>
    eventually(async () => {
      const rows = await ground.database.query(
        `select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`,
        [pid],
      );
      return rows.length === 1;
    });
  const jobs = () => ground.database.query<{ id: string }>('select id, payload, status from pgqueue.job order by id');

  it.each(POLICIES)('wait for each other, and the later one has a %s when the first commits', async (onConflict) => {
    await a.begin();
    const [first] = await queueOn(a.db).add({ ...KEYED, payload: '1' });
    const { queue } = await ground.producer();
    const second = queue.enqueue('work', 2, { ...KEYED, onConflict }).catch((error: unknown) => error);
    await eventually(async () =>
      expect(await ground.database.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)).toHaveLength(
        1,
      ),
    );
    await a.commit();
    expect(await second).toMatchObject(
      {
        skip: { id: first, duplicate: true },
        raise: { code: 'PGQUEUE_DUPLICATE_JOB', id: first },
        replace: { id: first, replaced: true },
      }[onConflict],
    );
    expect(await jobs()).toEqual([{ id: first, payload: onConflict === 'replace' ? 2 : 1, status: 'queued' }]);
  });

  it.each(POLICIES)(
    'wait for each other, and the later one inserts with %s when the first rolls back',
    async (onConflict) => {
      await a.begin();
      await queueOn(a.db).add({ ...KEYED, payload: '1' });
      const second = queueOn(b.db).add({ ...KEYED, payload: '2', onConflict });
      await waits(b.pid);
      await a.rollback();
      const [id] = await second;
      expect(await jobs()).toEqual([{ id, payload: 2, status: 'queued' }]);
    },
  );

  it.each(['skip', 'replace'] as const)('of which one ends its job: the other inserts, with %s', async (onConflict) => {
    const [first] = await ground.queue.add(KEYED);
    const claim = await ground.queue.claim(1);
    await a.begin();
    await queueOn(a.db).settle(claim, SUCCESSFUL);
    const second = queueOn(b.db).add({ ...KEYED, onConflict });
    await waits(b.pid);
    await a.commit();
    const [id] = await second;
    expect(id).not.toBe(first);
    expect(await jobs()).toEqual([{ id, payload: null, status: 'queued' }]);
  });

  it('of which one claims its job: the other replaces nothing', async () => {
    await ground.queue.add({ ...KEYED, payload: '1' });
    await a.begin();
    await queueOn(a.db).claim(1);
    const second = queueOn(b.db).add({ ...KEYED, payload: '2', onConflict: 'replace' });
    await waits(b.pid);
    await a.commit();
    await second;
    expect(await jobs()).toEqual([{ id: '1', payload: 1, status: 'picked' }]);
  });

  it('of which one has an older snapshot: 40001 comes through as it is', async () => {
    const { dataSource, queue } = await ground.producer();
    const attempt = dataSource.transaction('REPEATABLE READ', async (manager) => {
      await manager.query('select from pgqueue.job');
      await ground.queue.add(KEYED);
      await queue.enqueue('work', 1, { ...KEYED, manager });
    });
    await expect(attempt).rejects.toMatchObject({ code: '40001' });
    expect(await jobs()).toHaveLength(1);
  });

  it('of callers deadlock when they take keys in opposite order, and one of them gets a plain 40P01', async () => {
    const { dataSource, queue } = await ground.producer();
    const both = [deferred(), deferred()];
    const take = (keys: [string, string], mine: number) =>
      dataSource.transaction(async (manager: EntityManager) => {
        await queue.enqueue('work', 1, { dedupeKey: keys[0], manager });
        both[mine]!.resolve();
        await both[1 - mine]!.promise;
        await queue.enqueue('work', 1, { dedupeKey: keys[1], manager });
      });
    const results = await Promise.allSettled([take(['a', 'b'], 0), take(['b', 'a'], 1)]);
    const reasons = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(reasons).toEqual([expect.objectContaining({ code: '40P01' })]);
    expect(await jobs()).toHaveLength(2);
  });

  it('of own calls that share keys in opposite order wait and never deadlock', async () => {
    const keys = ['a', 'b', 'B', 'ä', 'c', 'é'];
    const batch = (order: readonly string[], rest: Partial<NewJob>) =>
      order.map((dedupeKey) => ({ dedupeKey, ...rest }));
    for (let round = 0; round < 30; round++) {
      await Promise.all([
        queueOn(a.db).add(...batch(keys, { onConflict: 'replace' })),
        queueOn(b.db).add(...batch(keys.toReversed(), { onConflict: round % 2 ? 'replace' : 'skip' })),
      ]);
      if (round % 3 === 0) await ground.database.query('truncate pgqueue.job');
    }
    expect(await jobs()).toHaveLength(keys.length); // a deadlock would have been thrown here
  });

  it('of which a call of its own deadlocks with a caller: the call is tried again', async () => {
    const { queue } = await ground.producer();
    await ground.queue.add({ dedupeKey: 'a' }, { dedupeKey: 'b' });
    await a.begin();
    await a.db.query(`set local deadlock_timeout = '1min'`); // so that it is the other one who is chosen
    await a.db.query(`update pgqueue.job set priority = 1 where dedupe_key = 'b'`);
    const call = queue.enqueueMany(
      ['a', 'b'].map((dedupeKey) => ({ entrypoint: 'work', payload: 2, dedupeKey, onConflict: 'replace' as const })),
    );
    await eventually(async () =>
      expect(await ground.database.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)).toHaveLength(
        1,
      ),
    );
    await a.db.query(`update pgqueue.job set priority = 1 where dedupe_key = 'a'`);
    await a.commit();
    expect(await call).toMatchObject([{ replaced: true }, { replaced: true }]);
    expect(await jobs()).toMatchObject([{ payload: 2 }, { payload: 2 }]);
  });
});

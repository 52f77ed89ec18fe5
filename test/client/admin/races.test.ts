import { poolDatabase } from '../../../lib/sql/database.js';
import { requeueJobs } from '../../../lib/sql/admin-requeue.js';
import {
  eventually,
  FAILED,
  makeStale,
  names,
  openSession,
  queueOn,
  RELEASED,
  SUCCESSFUL,
  type Session,
} from '../../support/index.js';
import { RETRIED, useAdminGround } from './support.js';

describe('an action of an operator', () => {
  const sessions: Session[] = [];
  afterEach(async () => {
    for (const session of sessions.splice(0)) await session.end();
  });
  const ground = useAdminGround(); // whose database goes after the sessions on it

  async function open(): Promise<Session> {
    const session = await openSession(ground.database);
    sessions.push(session);
    await session.begin();
    return session;
  }

  /** Resolves when `count` actions wait for a lock. */
  const untilBlocked = (count = 1) =>
    eventually(async () => {
      const rows = await ground.database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length === count;
    });

  describe('that cancels', () => {
    it('reaches a job behind the open claim that wins it', async () => {
      const admin = await ground.admin();
      const [id = ''] = await ground.queue.add({});
      const rival = await open();
      const claim = await queueOn(rival.db).claim(1);
      const canceled = admin.cancel([id]);
      await untilBlocked();
      await rival.commit();
      expect(await canceled).toEqual({ canceled: [], requested: [id] });
      await ground.queue.settle(claim, RELEASED);
      expect(await ground.ends()).toEqual([[id, 'canceled']]);
    });

    it('ends a job whose open claim is rolled back', async () => {
      const admin = await ground.admin();
      const [id = ''] = await ground.queue.add({});
      const rival = await open();
      await queueOn(rival.db).claim(1);
      const canceled = admin.cancel([id]);
      await untilBlocked();
      await rival.rollback();
      expect(await canceled).toEqual({ canceled: [id], requested: [] });
      expect(await ground.statuses()).toEqual({});
    });

    it.each([
      ['retried', RETRIED, ['retried', 'canceled']],
      ['released', RELEASED, ['canceled']],
      ['failed', FAILED, ['failed', 'canceled']],
    ] as const)('ends a job behind the open settle that has it %s', async (_, outcome, ends) => {
      const admin = await ground.admin();
      const claim = await ground.addPicked({});
      const rival = await open();
      await queueOn(rival.db).settle(claim, outcome);
      const canceled = admin.cancel(claim.ids);
      await untilBlocked();
      await rival.commit();
      expect(await canceled).toEqual({ canceled: claim.ids, requested: [] });
      expect(await ground.statuses()).toEqual({});
      expect((await ground.ends()).map(([, status]) => status)).toEqual(ends);
    });

    it('comes too late behind the open settle of a success', async () => {
      const admin = await ground.admin();
      const claim = await ground.addPicked({});
      const rival = await open();
      await queueOn(rival.db).settle(claim, SUCCESSFUL);
      const canceled = admin.cancel(claim.ids);
      await untilBlocked();
      await rival.commit();
      expect(await canceled).toEqual({ canceled: [], requested: [] });
      expect(await ground.ends()).toEqual([[claim.ids[0], 'successful']]);
    });

    it('ends a job behind the open dissolve of its claim', async () => {
      const admin = await ground.admin();
      const claim = await ground.addPicked({});
      await makeStale(ground.database);
      const rival = await open();
      await queueOn(rival.db).dissolve();
      const canceled = admin.cancel(claim.ids);
      await untilBlocked();
      await rival.commit();
      expect(await canceled).toEqual({ canceled: claim.ids, requested: [] });
      expect((await ground.ends()).map(([, status]) => status)).toEqual(['lost', 'canceled']);
    });

    it('ends a job behind an open requeue', async () => {
      const admin = await ground.admin();
      const [id = ''] = await ground.addFailed({});
      const rival = await open();
      await requeueJobs(rival.db, names, [id], { locking: 'skip', notify: true });
      const canceled = admin.cancel([id]);
      await untilBlocked();
      await rival.commit();
      expect(await canceled).toEqual({ canceled: [id], requested: [] });
    });

    it('is seen by the settle and the dissolve that come after it', async () => {
      const admin = await ground.admin();
      const [one, two] = [await ground.addPicked({}), await ground.addPicked({})];
      await admin.cancel([...one.ids, ...two.ids]);
      await ground.queue.settle(one, RETRIED);
      await makeStale(ground.database, two);
      await ground.queue.dissolve();
      expect((await ground.ends()).map(([, status]) => status)).toEqual(['canceled', 'canceled']);
    });
  });

  it('that removes leaves a job to the open claim that wins it', async () => {
    const admin = await ground.admin();
    const [id = '', other = ''] = await ground.queue.add({ priority: 1 }, {});
    const rival = await open();
    await queueOn(rival.db).claim(1);
    const removed = admin.remove([id, other]);
    await untilBlocked();
    await rival.commit();
    expect(await removed).toEqual({ removed: [other], running: [id] });
  });

  it('that clears passes over what is being claimed', async () => {
    const admin = await ground.admin();
    const [id = ''] = await ground.queue.add({ priority: 1 }, {});
    const rival = await open();
    await queueOn(rival.db).claim(1);
    expect(await admin.clear({})).toBe(1);
    await rival.commit();
    expect(await ground.statuses()).toEqual({ [id]: 'picked' });
  });

  it('holds no job while it waits for another, so that workers claim and settle them', async () => {
    const admin = await ground.admin();
    const claim = await ground.addPicked({}, {});
    const [waiting = '', locked = ''] = await ground.queue.add({}, {});
    const [failed = '', lockedToo = ''] = await ground.addFailed({ priority: 1 }, { priority: 1 });
    const rival = await open();
    await rival.db.query('select from pgqueue.job where id = any($1::bigint[]) for update', [[locked, lockedToo]]);
    const canceled = admin.cancel([...claim.ids, locked]);
    await untilBlocked();
    const removed = admin.remove([waiting, locked]);
    const requeued = admin.requeue([failed, lockedToo]);
    await untilBlocked(3);
    expect(await ground.queue.settle(claim, SUCCESSFUL)).toEqual(claim.ids);
    expect((await ground.queue.claim(10)).ids).toEqual([failed]);
    await rival.commit();
    expect((await canceled).requested).toEqual(claim.ids);
    await removed;
    expect(await requeued).toEqual({ requeued: [failed, lockedToo], conflicts: [] });
  });

  it('that requeues meets the key that an open transaction is about to take', async () => {
    const admin = await ground.admin();
    const [one = '', two = ''] = await ground.addFailed({ dedupeKey: 'a' }, { dedupeKey: 'b' });
    const committed = await open();
    const rolledBack = await open();
    await queueOn(committed.db).add({ dedupeKey: 'a' });
    await queueOn(rolledBack.db).add({ dedupeKey: 'b' });
    const requeued = admin.requeue([one, two]);
    await untilBlocked();
    await committed.commit();
    await rolledBack.rollback();
    expect(await requeued).toEqual({ requeued: [two], conflicts: [one] });
  });

  it('that requeues does each job once, when two operators take the same ids in other orders, beside producers', async () => {
    const admin = await ground.admin();
    const keys = ['a', 'b', 'c', 'd', 'e'];
    const db = poolDatabase(() => ground.database.pool);
    for (let round = 0; round < 10; round++) {
      const failed: string[] = [];
      for (let copy = 0; copy < 2; copy++)
        failed.push(...(await ground.addFailed(...keys.map((dedupeKey) => ({ dedupeKey })))));
      const plain = await ground.addFailed({}, {}, {});
      const ids = [...failed, ...plain];
      const [one, two] = await Promise.all([
        admin.requeue(ids),
        admin.requeue(ids.toReversed()),
        queueOn(db).add(...keys.toReversed().map((dedupeKey) => ({ dedupeKey }))),
      ]);
      const requeued = [...one.requeued, ...two.requeued];
      expect(new Set(requeued).size).toBe(requeued.length);
      expect(requeued).toEqual(expect.arrayContaining(plain));
      const taken = await ground.database.query(
        `select from pgqueue.job where status = 'queued' and dedupe_key is not null`,
      );
      expect(taken).toHaveLength(keys.length);
      await admin.clear({});
    }
  });
});

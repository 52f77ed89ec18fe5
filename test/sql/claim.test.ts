import { poolDatabase } from '../../lib/sql/database.js';
import { readHead } from '../../lib/sql/head.js';
import {
  createTestDatabase,
  names,
  onPool,
  openSession,
  type Queue,
  queueOn,
  type Session,
  type TestDatabase,
} from '../support/index.js';

describe('a claim', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  it('takes the most urgent jobs first, and of equals the oldest', async () => {
    const [a, b, c, d] = await queue.add({ priority: 0 }, { priority: 7 }, { priority: -3 }, { priority: 7 });
    expect((await queue.claim(3)).ids).toEqual([b, d, a]);
    expect((await queue.claim(3)).ids).toEqual([c]);
  });

  it('orders by priority across entrypoints', async () => {
    const [a, b, c] = await queue.add({ entrypoint: 'one', priority: 1 }, { entrypoint: 'two', priority: 2 }, 'one');
    expect((await queue.claim(5, { entrypoints: ['one', 'two'] })).ids).toEqual([b, a, c]);
  });

  it('takes only what is asked for: its entrypoints, jobs that are due, jobs that are not held', async () => {
    const [held] = await queue.add({ priority: 9 });
    await queue.settle(await queue.claim(1), { type: 'failed', error: { message: 'no', stack: null } });
    const [mine] = await queue.add('work', 'other', { delay: 60_000, priority: 9 });
    const { ids } = await queue.claim(10);
    expect(ids).toEqual([mine]);
    expect(ids).not.toContain(held);
  });

  it('of what was seen takes that of its entrypoints, the most urgent first, and only what can be claimed still', async () => {
    const [a, b, c, d] = await queue.add({}, { priority: 3 }, 'other', { delay: 60_000 });
    const taken = await queue.claim(1);
    expect(taken.ids).toEqual([b]);
    const [e, f] = await queue.add({ entrypoint: 'second', priority: 1, maxAttempts: 9 }, {});
    await database.query(`insert into pgqueue.entrypoint (name, paused_at) values ('paused', now())`);
    const [g] = await queue.add('paused');
    const seen = [a!, b!, c!, d!, e!, g!, '999999'];
    const entrypoints = ['paused', 'work', 'second'];
    expect((await queue.claim(1, { entrypoints, seen })).jobs).toMatchObject([
      { id: e, entrypoint: 'second', maxAttempts: 9 },
    ]);
    expect((await queue.claim(9, { entrypoints, seen })).ids).toEqual([a]);
    expect(await queue.claim(9, { entrypoints, seen })).toMatchObject({ ids: [] });
    expect((await queue.claim(9)).ids).toEqual([f]);
  });

  it('can be of what a look at the head has seen', async () => {
    const [a, b, c] = await queue.add({}, { priority: 3 }, { entrypoint: 'second', priority: -1 });
    await queue.add('other', { delay: 60_000, priority: 9 });
    const look = (limit: number) =>
      readHead(
        poolDatabase(() => database.pool),
        names,
        ['work', 'second'],
        limit,
      );
    const { jobs, took } = await look(9);
    expect(jobs).toEqual([
      { id: b, entrypoint: 'work', priority: 3 },
      { id: a, entrypoint: 'work', priority: 0 },
      { id: c, entrypoint: 'second', priority: -1 },
    ]);
    expect(took).toBeGreaterThan(0);
    expect((await look(2)).jobs).toEqual(jobs.slice(0, 2));
    await queue.claim(9, { entrypoints: ['work', 'second'] });
    const nothing = await look(9);
    expect(nothing.jobs).toEqual([]);
    expect(nothing.took).toBeGreaterThan(0);
  });

  it('writes the attempt, the policy and the claim, whose row carries the heartbeat', async () => {
    const [own, byPolicy] = await queue.add({ maxAttempts: 2 }, {});
    const { claimId, jobs } = await queue.claim(10, { maxAttempts: 7, as: 'host:1' });
    expect(jobs).toMatchObject([
      { id: own, claimId, attempt: 1, maxAttempts: 2 },
      { id: byPolicy, claimId, attempt: 1, maxAttempts: 7 },
    ]);
    expect(
      await database.query('select id, status, attempt, max_attempts, claim_id from pgqueue.job order by id'),
    ).toEqual([
      { id: own, status: 'picked', attempt: 1, max_attempts: 2, claim_id: claimId },
      { id: byPolicy, status: 'picked', attempt: 1, max_attempts: 7, claim_id: claimId },
    ]);
    expect(
      await database.query(
        `select claim_id, job_ids, worker, clock_timestamp() - heartbeat_at < interval '10 s' as fresh from pgqueue.claim`,
      ),
    ).toEqual([{ claim_id: claimId, job_ids: [own, byPolicy], worker: 'host:1', fresh: true }]);
  });

  it('leaves nothing behind when it wins nothing', async () => {
    expect(await queue.claim(10)).toMatchObject({ jobs: [], crowded: false });
    expect(await database.query('select from pgqueue.claim')).toEqual([]);
  });

  it('keeps ids exact beyond 2^53', async () => {
    await database.query('alter table pgqueue.job alter column id restart with 9007199254740993');
    const [id, next] = await queue.add({}, {});
    expect([id, next]).toEqual(['9007199254740993', '9007199254740994']);
    const claim = await queue.claim(2);
    expect(claim.ids).toEqual([id, next]);
    expect(
      await queue.settle(claim, { type: 'retried', delay: 0, error: { message: 'no', stack: null } }, [id!]),
    ).toEqual([id]);
    expect(await queue.settle(claim, { type: 'successful' }, [next!])).toEqual([next]);
    await queue.claim(1);
    await database.query(`update pgqueue.claim set heartbeat_at = '-infinity'`);
    expect(await queue.dissolve()).toMatchObject([{ id, outcome: 'lost' }]);
    expect(await database.query('select job_id, status from pgqueue.job_log order by ended_at')).toEqual([
      { job_id: id, status: 'retried' },
      { job_id: next, status: 'successful' },
      { job_id: id, status: 'lost' },
    ]);
  });
});

describe('a claim beside an open one', () => {
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

  describe.each([
    ['of one entrypoint', ['work']],
    ['of several entrypoints', ['none', 'work']],
  ])('%s', (_, entrypoints) => {
    it('neither waits for it nor takes its jobs', async () => {
      const [a, b, c] = await queue.add({}, {}, {});
      expect((await queueOn(rival.db).claim(2, { entrypoints })).ids).toEqual([a, b]);
      expect((await queue.claim(10, { entrypoints })).ids).toEqual([c]);
      await rival.commit();
      expect((await queue.claim(10, { entrypoints })).ids).toEqual([]);
    });

    it('has its jobs as soon as it is rolled back, as if nothing had been', async () => {
      const [a] = await queue.add({});
      await queueOn(rival.db).claim(1, { entrypoints });
      await rival.rollback();
      const { jobs, claimId } = await queue.claim(1, { entrypoints });
      expect(jobs).toMatchObject([{ id: a, attempt: 1 }]);
      expect(await database.query('select claim_id from pgqueue.claim')).toEqual([{ claim_id: claimId }]);
    });

    it('says that it was crowded when rivals held what it looked at', async () => {
      await queue.add(...Array.from({ length: 20 }, () => ({})));
      await queueOn(rival.db).claim(20, { entrypoints });
      expect(await queue.claim(1, { entrypoints })).toMatchObject({ jobs: [], crowded: true });
      await rival.rollback();
      expect((await queue.claim(1, { entrypoints })).crowded).toBe(false);
      expect((await queue.claim(30, { entrypoints })).crowded).toBe(false);
    });

    it('locks no more jobs than it takes', async () => {
      await queue.add({}, {}, {}, {});
      await queueOn(rival.db).claim(1, { entrypoints });
      expect(await database.query('select id from pgqueue.job for update skip locked')).toHaveLength(3);
    });
  });

  it('is filled from the entrypoints that are left', async () => {
    const entrypoints = ['a', 'b', 'c', 'd'];
    await queue.add(...Array.from({ length: 40 }, (_, index) => entrypoints[index % 4]!));
    const first = await queueOn(rival.db).claim(10, { entrypoints });
    const second = await queue.claim(10, { entrypoints });
    expect(new Set([...first.ids, ...second.ids]).size).toBe(20);
  });

  it('locks no more jobs than it takes of all of them', async () => {
    const entrypoints = ['a', 'b', 'c', 'd'];
    await queue.add(...entrypoints, ...entrypoints, ...entrypoints);
    await queueOn(rival.db).claim(1, { entrypoints });
    expect(await database.query('select id from pgqueue.job for update skip locked')).toHaveLength(11);
  });

  it('looks past what rivals hold of one entrypoint, and not past all of several', async () => {
    const ids = await queue.add(...Array.from({ length: 20 }, () => ({})));
    await queueOn(rival.db).claim(8);
    expect(await queue.claim(1, { entrypoints: ['work', 'none'] })).toMatchObject({ jobs: [], crowded: true });
    expect(await queue.claim(1)).toMatchObject({ ids: [ids[8]], crowded: false });
  });
});

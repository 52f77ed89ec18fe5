import {
  createTestDatabase,
  onPool,
  openSession,
  type Queue,
  queueOn,
  type Session,
  type TestDatabase,
} from '../support/index.js';

describe('a job whose time has come, of two sessions,', () => {
  let database: TestDatabase;
  let queue: Queue;
  let one: Session;
  let id: string;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    one = await openSession(database);
    [id] = (await queue.add({ delay: 60_000 })) as [string];
    await database.query(`update pgqueue.job set run_at = now()`);
    await one.begin();
  });
  afterEach(async () => {
    await one.end();
    await database.drop();
  });

  it('can be claimed by the other once one has let it in and committed, and not before', async () => {
    expect(await queueOn(one.db).promote()).toBe(1);
    expect((await queue.claim(1)).ids).toEqual([]);
    await one.commit();
    expect((await queue.claim(1)).ids).toEqual([id]);
  });

  it('stays out when the one that let it in is rolled back', async () => {
    await queueOn(one.db).promote();
    await one.rollback();
    expect((await queue.claim(1)).ids).toEqual([]);
    expect(await queue.promote()).toBe(1);
  });

  it('is let in by the first, and the second does not wait', async () => {
    expect(await queueOn(one.db).promote()).toBe(1);
    expect(await queue.promote()).toBe(0);
    await one.commit();
    expect(await queue.promote()).toBe(0);
    expect(await database.query('select wait, status, attempt from pgqueue.job')).toEqual([
      { wait: 'ready', status: 'queued', attempt: 0 },
    ]);
  });

  it('is claimed and let in by one at once, and the other has nothing of it when that is rolled back', async () => {
    await queueOn(one.db).promote();
    expect((await queueOn(one.db).claim(1)).ids).toEqual([id]);
    expect(await queue.promote()).toBe(0);
    expect((await queue.claim(1)).ids).toEqual([]);
    await one.rollback();
    expect(await database.query('select wait, status, attempt from pgqueue.job')).toEqual([
      { wait: 'later', status: 'queued', attempt: 0 },
    ]);
  });

  it('is passed over while a user holds it locked, and so it is by a claim', async () => {
    const [ready] = await queue.add({});
    await one.db.query('select from pgqueue.job for update');
    expect(await queue.promote()).toBe(0);
    expect(await queue.claim(1)).toMatchObject({ jobs: [], crowded: true });
    await one.rollback();
    expect(await queue.promote()).toBe(1);
    expect((await queue.claim(2)).ids).toEqual([id, ready]);
  });
});

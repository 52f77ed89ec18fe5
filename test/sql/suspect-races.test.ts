import {
  createTestDatabase,
  makeStale,
  onPool,
  openSession,
  type Queue,
  queueOn,
  type Session,
  SUCCESSFUL,
  type TestDatabase,
} from '../support/index.js';

describe('of two sessions,', () => {
  let database: TestDatabase;
  let queue: Queue;
  let one: Session;
  let other: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    one = await openSession(database);
    other = queue;
    await one.begin();
  });
  afterEach(async () => {
    await one.end();
    await database.drop();
  });

  const first = () => queueOn(one.db);
  const state = () => database.query('select status, wait, attempt from pgqueue.job');
  const claims = async () =>
    (await database.query('select claim_id from pgqueue.claim')).map(({ claim_id: id }) => id as string);
  /** A job that was lost, and waits to run alone. */
  const suspect = async () => {
    const [id] = await queue.add({ maxAttempts: 1 });
    await queue.claim(1);
    await makeStale(database);
    await queue.dissolve();
    return id!;
  };

  describe('one dissolves a claim and the other wants its job:', () => {
    it('it is free once that is committed, to run alone only', async () => {
      const [id] = await queue.add({});
      await queue.claim(1);
      await makeStale(database);
      await first().dissolve();
      expect((await other.claim(1, { alone: true })).ids).toEqual([]);
      await one.commit();
      expect((await other.claim(1)).ids).toEqual([]);
      expect((await other.claim(1, { alone: true })).jobs).toMatchObject([{ id, attempt: 1 }]);
    });

    it('it stays where it is when that is rolled back', async () => {
      await queue.add({});
      const claim = await queue.claim(1);
      await makeStale(database);
      await first().dissolve();
      await one.rollback();
      expect((await other.claim(1, { alone: true })).ids).toEqual([]);
      expect(await claims()).toEqual([claim.claimId]);
    });
  });

  describe('both want what is to run alone:', () => {
    it('the second one does not wait, and knows that it was crowded out', async () => {
      await suspect();
      await first().claim(1, { alone: true });
      expect(await other.claim(1, { alone: true })).toMatchObject({ jobs: [], crowded: true });
      await one.commit();
      expect(await other.claim(1, { alone: true })).toMatchObject({ jobs: [], crowded: false });
    });

    it('the second one has it when the first is rolled back', async () => {
      const id = await suspect();
      await first().claim(1, { alone: true });
      await one.rollback();
      expect((await other.claim(1, { alone: true })).ids).toEqual([id]);
    });
  });

  describe('one claims what is to run alone and the other lets it go after long:', () => {
    it('it does not wait, and the claim keeps it under suspicion', async () => {
      await suspect();
      await first().claim(1, { alone: true });
      expect(await other.promote(0)).toBe(0);
      await one.commit();
      expect(await other.promote(0)).toBe(0);
      expect(await state()).toEqual([{ status: 'picked', wait: 'alone', attempt: 1 }]);
    });

    it('it is let go when the claim is rolled back, and can not be claimed to run alone then', async () => {
      const id = await suspect();
      await first().claim(1, { alone: true });
      await one.rollback();
      expect(await other.promote(0)).toBe(1);
      expect((await other.claim(1, { alone: true })).ids).toEqual([]);
      expect((await other.claim(1)).ids).toEqual([id]);
    });

    it('the other way round, the claim does not wait either', async () => {
      const id = await suspect();
      expect(await first().promote(0)).toBe(1);
      expect((await other.claim(1, { alone: true })).ids).toEqual([]);
      await one.commit();
      expect((await other.claim(1, { alone: true })).ids).toEqual([]);
      expect((await other.claim(1)).ids).toEqual([id]);
    });
  });

  describe('one holds the row of a claim and the other', () => {
    it('settles its jobs at once, and leaves the row to a dissolve', async () => {
      const [id] = await queue.add({});
      const claim = await queue.claim(1);
      await one.db.query('select from pgqueue.claim for update');
      expect(await other.settle(claim, SUCCESSFUL)).toEqual([id]);
      expect(await other.reap(claim)).toEqual([]);
      await one.commit();
      await makeStale(database);
      expect(await other.dissolve()).toEqual([]);
      expect(await claims()).toEqual([]);
    });
  });

  describe('one beats and the other dissolves:', () => {
    it('a beat that is rolled back leaves the claim as silent as it was', async () => {
      const [id] = await queue.add({});
      const claim = await queue.claim(1);
      await makeStale(database);
      await first().beat(claim);
      await one.rollback();
      expect(await other.dissolve()).toMatchObject([{ id, outcome: 'lost' }]);
    });

    it('a dissolve that is rolled back leaves a claim that beats', async () => {
      await queue.add({});
      const claim = await queue.claim(1);
      await makeStale(database);
      await first().dissolve();
      await one.rollback();
      expect(await other.beat(claim)).toEqual(new Set([claim.claimId]));
      expect(await other.dissolve()).toEqual([]);
    });

    it('a claim is not removed while a beat of it is open, however ended its jobs are', async () => {
      await queue.add({});
      const claim = await queue.claim(1);
      await queue.settle(claim, SUCCESSFUL);
      await first().beat(claim);
      expect(await other.reap(claim)).toEqual([]);
      await one.commit();
      expect(await other.reap(claim)).toEqual([claim.claimId]);
    });
  });
});

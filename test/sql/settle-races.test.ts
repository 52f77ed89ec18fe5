import {
  createTestDatabase,
  makeStale,
  onPool,
  openSession,
  type Queue,
  queueOn,
  type Session,
  SUCCESSFUL,
  takeAway,
  type TestDatabase,
} from '../support/index.js';

describe('of two sessions,', () => {
  let database: TestDatabase;
  let queue: Queue;
  let one: Session;
  let other: Session;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    [one, other] = await Promise.all([openSession(database), openSession(database)]);
    await one.begin();
  });
  afterEach(async () => {
    await Promise.all([one.end(), other.end()]);
    await database.drop();
  });

  const state = () => database.query('select status, attempt, claim_id from pgqueue.job');
  const logged = () => database.query('select status, claim_id from pgqueue.job_log order by ended_at, status');

  describe('one settles a job and the other wants to claim it:', () => {
    it('the claim neither waits nor wins before the retry is committed', async () => {
      const [id] = await queue.add({});
      const first = await queue.claim(1);
      await queueOn(one.db).settle(first, { type: 'retried', delay: 0, error: { message: 'no', stack: null } });
      expect((await queueOn(other.db).claim(1)).ids).toEqual([]);
      await one.commit();
      expect((await queueOn(other.db).claim(1)).jobs).toMatchObject([{ id, attempt: 2 }]);
    });

    it('a settle that is rolled back leaves the job with its claim, which can settle it again', async () => {
      const [id] = await queue.add({});
      const claim = await queue.claim(1);
      await queueOn(one.db).settle(claim, SUCCESSFUL);
      await one.rollback();
      expect((await queueOn(other.db).claim(1)).ids).toEqual([]);
      expect(await state()).toEqual([{ status: 'picked', attempt: 1, claim_id: claim.claimId }]);
      expect(await logged()).toEqual([]);
      expect(await queue.settle(claim, SUCCESSFUL)).toEqual([id]);
    });
  });

  describe('both settle a job:', () => {
    it('the second one does not wait, and is refused once the first is committed', async () => {
      const [id] = await queue.add({});
      const claim = await queue.claim(1);
      expect(await queueOn(one.db).settle(claim, SUCCESSFUL)).toEqual([id]);
      expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([`${id} is locked`]);
      await one.commit();
      expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([]);
      expect(await logged()).toEqual([{ status: 'successful', claim_id: claim.claimId }]);
    });

    it('the second one wins when the first is rolled back', async () => {
      const [id] = await queue.add({});
      const claim = await queue.claim(1);
      await queueOn(one.db).settle(claim, SUCCESSFUL);
      expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([`${id} is locked`]);
      await one.rollback();
      expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([id]);
      expect(await logged()).toHaveLength(1);
    });

    it('in opposite orders of the jobs, without a deadlock', async () => {
      await queue.add(...Array.from({ length: 200 }, () => ({})));
      const claim = await queue.claim(200);
      await one.commit();
      const written = await Promise.all([
        queueOn(one.db).settle(claim, SUCCESSFUL),
        queueOn(other.db).settle(claim, SUCCESSFUL, claim.ids.toReversed()),
      ]);
      expect(
        written
          .flat()
          .filter((id) => !id.endsWith('locked'))
          .toSorted(),
      ).toEqual(claim.ids.toSorted());
      expect(await logged()).toHaveLength(200);
    });
  });

  describe('one settles a job of a stale claim and the other dissolves it:', () => {
    it('the dissolve skips the job and keeps the claim for the next round', async () => {
      await queue.add({});
      const claim = await queue.claim(1);
      await makeStale(database);
      await queueOn(one.db).settle(claim, SUCCESSFUL);
      expect(await queueOn(other.db).dissolve()).toEqual([]);
      expect(await database.query('select claim_id from pgqueue.claim')).toEqual([{ claim_id: claim.claimId }]);
      await one.commit();
      expect(await queueOn(other.db).dissolve()).toEqual([]);
      expect(await logged()).toEqual([{ status: 'successful', claim_id: claim.claimId }]);
      expect(await database.query('select from pgqueue.claim')).toEqual([]);
    });

    it('the dissolve has the job after the settle was rolled back', async () => {
      const [id] = await queue.add({});
      const claim = await queue.claim(1);
      await makeStale(database);
      await queueOn(one.db).settle(claim, SUCCESSFUL);
      expect(await queueOn(other.db).dissolve()).toEqual([]);
      await one.rollback();
      expect(await queueOn(other.db).dissolve()).toMatchObject([{ id, outcome: 'lost', claimId: claim.claimId }]);
      expect(await state()).toEqual([{ status: 'queued', attempt: 0, claim_id: null }]);
    });

    it('the settle does not wait for an open dissolve, and is refused once that is committed', async () => {
      const [id] = await queue.add({});
      const claim = await queue.claim(1);
      await makeStale(database);
      await queueOn(one.db).dissolve();
      expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([`${id} is locked`]);
      await one.commit();
      expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([]);
      expect(await logged()).toEqual([{ status: 'lost', claim_id: claim.claimId }]);
      expect(await state()).toMatchObject([{ status: 'queued' }]);
    });

    it('the settle is written when the dissolve is rolled back', async () => {
      const [id] = await queue.add({});
      const claim = await queue.claim(1);
      await makeStale(database);
      await queueOn(one.db).dissolve();
      expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([`${id} is locked`]);
      await one.rollback();
      expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([id]);
    });
  });

  it('one holds a job and the other settles it among others: those are written at once', async () => {
    const [held, ...free] = await queue.add({}, {}, {});
    const claim = await queue.claim(3);
    await one.db.query('select from pgqueue.job where id = $1 for update', [held]);
    expect(await queueOn(other.db).settle(claim, SUCCESSFUL)).toEqual([`${held} is locked`, ...free]);
  });

  describe('one settles the last job of a claim and the other reaps the claim:', () => {
    it('the claim stays while the settle is open, and for as long as one that was rolled back left it a job', async () => {
      await queue.add({}, {});
      const claim = await queue.claim(2);
      await queue.settle(claim, SUCCESSFUL, claim.ids.slice(0, 1));
      await queueOn(one.db).settle(claim, SUCCESSFUL, claim.ids.slice(1));
      expect(await queueOn(other.db).reap(claim)).toEqual([]);
      await one.rollback();
      expect(await queueOn(other.db).reap(claim)).toEqual([]);
      expect(await takeAway(database)).toMatchObject([{ id: claim.ids[1], outcome: 'lost' }]);
    });

    it('the claim goes when the settle is committed, or in the transaction of the settle itself', async () => {
      await queue.add({}, {});
      const [first, second] = [await queue.claim(1), await queue.claim(1)];
      await queueOn(one.db).settle(first, SUCCESSFUL);
      expect(await queueOn(one.db).reap(first)).toEqual([first.claimId]);
      await one.commit();
      await queue.settle(second, SUCCESSFUL);
      expect(await queueOn(other.db).reap(first, second)).toEqual([second.claimId]);
    });
  });
});

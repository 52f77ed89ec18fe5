import { randomUUID } from 'node:crypto';
import { settleJobs } from '../../lib/sql/settle.js';
import {
  type Claim,
  createTestDatabase,
  names,
  onPool,
  openSession,
  type Queue,
  type Session,
  SUCCESSFUL,
  type TestDatabase,
} from '../support/index.js';

describe('a settle takes along the rows of claims whose jobs were settled before', () => {
  let database: TestDatabase;
  let session: Session;
  let queue: Queue;
  let ended: Claim[];
  let last: Claim;
  beforeEach(async () => {
    database = await createTestDatabase();
    session = await openSession(database);
    queue = onPool(database);
    await queue.add('work', 'work', 'work');
    ended = [await queue.claim(1), await queue.claim(1)];
    for (const claim of ended) await queue.settle(claim, SUCCESSFUL);
    last = await queue.claim(1);
  });
  afterEach(async () => {
    await session.end();
    await database.drop();
  });

  const settle = (claimIds: string[], db = session.db) => {
    const settlements = last.ids.map((id) => ({ id, claimId: last.claimId, outcome: SUCCESSFUL, duration: 1 }));
    return settleJobs(db, names, settlements, { worker: 'test', notify: true, ended: claimIds });
  };
  const endedIds = () => ended.map(({ claimId }) => claimId);
  const claims = async () =>
    (await database.query<{ id: string }>('select claim_id as id from pgqueue.claim')).map(({ id }) => id).sort();

  it('and says which, beside what became of its jobs', async () => {
    const { jobs, reaped } = await settle([...endedIds(), randomUUID()]);
    expect(jobs).toEqual([{ id: last.ids[0], claimId: last.claimId, outcome: 'successful' }]);
    expect([...reaped].sort()).toEqual(endedIds().sort());
    expect(await claims()).toEqual([last.claimId]); // its own goes with the next
  });

  it('also where it has exceptions to tell of', async () => {
    await database.query('update pgqueue.job set claim_id = $1', [randomUUID()]);
    const { jobs, reaped } = await settle(endedIds());
    expect(jobs).toEqual([]);
    expect([...reaped].sort()).toEqual(endedIds().sort());
  });

  it('without waiting for one that somebody holds', async () => {
    const [held, free] = endedIds() as [string, string];
    const user = await openSession(database);
    await user.begin();
    await user.db.query('select from pgqueue.claim where claim_id = $1 for update', [held]);
    const { jobs, reaped } = await settle([held, free]);
    expect(jobs).toHaveLength(1);
    expect(reaped).toEqual([free]);
    await user.rollback();
    await user.end();
    expect(await claims()).toEqual([held, last.claimId].sort());
  });

  it('and they are there again when it is rolled back', async () => {
    await session.begin();
    expect((await settle(endedIds())).reaped).toHaveLength(2);
    await session.rollback();
    expect(await claims()).toEqual([...endedIds(), last.claimId].sort());
    expect((await settle(endedIds())).reaped).toHaveLength(2);
  });
});

import { poolDatabase } from '../../lib/sql/database.js';
import { dissolveClaims } from '../../lib/sql/dissolve.js';
import {
  createTestDatabase,
  makeStale,
  names,
  onPool,
  openSession,
  type Queue,
  queueOn,
  type Session,
  SUCCESSFUL,
  type TestDatabase,
} from '../support/index.js';

describe('dissolving stale claims', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  const jobs = () => database.query('select id, status, wait, attempt, claim_id from pgqueue.job order by id');
  const claims = async () =>
    (await database.query('select claim_id from pgqueue.claim')).map(({ claim_id: id }) => id as string);

  it('queues their jobs again and writes who left them behind', async () => {
    const [id] = await queue.add({});
    const { claimId } = await queue.claim(1, { as: 'host:1' });
    await makeStale(database);
    const dissolved = { id, entrypoint: 'work', outcome: 'lost', claimId, worker: 'host:1' };
    expect(await queue.dissolve()).toEqual([dissolved]);
    expect(await jobs()).toEqual([{ id, status: 'queued', wait: 'alone', attempt: 0, claim_id: null }]);
    expect(
      await database.query('select job_id, attempt, status, claim_id, worker, error from pgqueue.job_log'),
    ).toEqual([
      {
        job_id: id,
        attempt: 1,
        status: 'lost',
        claim_id: claimId,
        worker: 'host:1',
        error: expect.stringContaining('stopped beating'),
      },
    ]);
    expect(await claims()).toEqual([]);
  });

  it('spends the attempt of a job that is lost when its worker had nothing else, by the policy on the row', async () => {
    const [byEntrypoint, own, more, dropped] = await queue.add(
      'strange',
      { entrypoint: 'strange', maxAttempts: 1 },
      'strange',
      'strange',
    );
    const policies = [
      { maxAttempts: 1 },
      { maxAttempts: 1 },
      { maxAttempts: 2 },
      { maxAttempts: 1, onFailure: 'drop' as const },
    ];
    for (const [index, policy] of policies.entries()) {
      await queue.claim(1, { entrypoints: ['strange'], company: false, as: `host:${index}`, ...policy });
    }
    await makeStale(database);
    const outcomes = new Map((await queue.dissolve()).map(({ id, outcome }) => [id, outcome]));
    expect([byEntrypoint, own, more, dropped].map((id) => outcomes.get(id!))).toEqual([
      'failed',
      'failed',
      'lost',
      'exception',
    ]);
    expect(await jobs()).toMatchObject([
      { status: 'failed', wait: 'ready', attempt: 1 },
      { status: 'failed', wait: 'ready', attempt: 1 },
      { status: 'queued', wait: 'alone', attempt: 1 },
    ]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['another job of its claim', () => queue.claim(2, { company: false })],
    ['a job that it had before', () => queue.claim(1, { company: true })],
    [
      'a job that it got later',
      async () => {
        await queue.claim(1, { company: false });
        await queue.claim(1, { company: true });
        await database.query(`
          update pgqueue.claim set heartbeat_at = clock_timestamp() + interval '1 day'
          where claim_id in (select claim_id from pgqueue.job where id = 2)`);
      },
    ],
  ])('gives the attempt back where the worker also had %s', async (_, claim) => {
    await queue.add({ maxAttempts: 1 }, { maxAttempts: 1 });
    await claim();
    await database.query(`update pgqueue.claim set heartbeat_at = heartbeat_at - interval '1 hour'`);
    expect((await queue.dissolve()).map(({ outcome }) => outcome)).not.toContain('failed');
    expect((await jobs())[0]).toMatchObject({ status: 'queued', wait: 'alone', attempt: 0 });
  });

  it('spends the attempt when the others of its claim had been settled', async () => {
    await queue.add({ maxAttempts: 1 }, {});
    const claim = await queue.claim(2, { company: false });
    await queue.settle(claim, SUCCESSFUL, claim.ids.slice(1));
    await makeStale(database);
    expect(await queue.dissolve()).toMatchObject([{ id: claim.ids[0], outcome: 'failed' }]);
  });

  it('spends the attempts of a job that was lost in company ten times', async () => {
    await queue.add({});
    const attempts = [];
    for (let loss = 0; loss < 12; loss++) {
      await queue.claim(1, { alone: loss > 0, company: loss < 2 });
      await database.query(`update pgqueue.claim set company = true, heartbeat_at = '-infinity'`);
      await queue.dissolve();
      attempts.push((await jobs())[0]?.['attempt']);
    }
    expect(attempts).toEqual([...Array(10).fill(0), 1, 2]);
  });

  it('leaves the claims that the finder knows to be alive', async () => {
    await queue.add({}, {});
    const [own, other] = [await queue.claim(1), await queue.claim(1)];
    await makeStale(database);
    const db = poolDatabase(() => database.pool);
    const found = await dissolveClaims(db, names, { heartbeatTimeout: 1_000, notify: false, except: [own.claimId] });
    expect(found.map(({ claimId }) => claimId)).toEqual([other.claimId]);
  });

  it('leaves claims that beat, and jobs that were settled before', async () => {
    await queue.add({}, {}, {});
    const stale = await queue.claim(2);
    const alive = await queue.claim(1);
    await queue.settle(stale, SUCCESSFUL, stale.ids.slice(0, 1));
    await makeStale(database, stale);
    expect(await queue.dissolve()).toMatchObject([{ id: stale.ids[1] }]);
    expect(await claims()).toEqual([alive.claimId]);
  });

  it('removes a claim of which no job is left', async () => {
    await queue.add({});
    await queue.settle(await queue.claim(1), SUCCESSFUL);
    await makeStale(database);
    expect(await queue.dissolve()).toEqual([]);
    expect(await claims()).toEqual([]);
  });

  it('measures silence by the clock of the database', async () => {
    await queue.add({});
    await queue.claim(1);
    await database.query(`update pgqueue.claim set heartbeat_at = clock_timestamp() - interval '29 s'`);
    expect(await queue.dissolve(30_000)).toEqual([]);
    expect(await queue.dissolve(28_000)).toHaveLength(1);
  });
});

describe('dissolving while another session', () => {
  let database: TestDatabase;
  let queue: Queue;
  let other: Session;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    other = await openSession(database);
    await other.begin();
  });
  afterEach(async () => {
    await other.end();
    await database.drop();
  });

  const claims = async () =>
    (await database.query('select claim_id from pgqueue.claim')).map(({ claim_id: id }) => id as string);

  it('holds a job: frees the others, and that one in a later round', async () => {
    const [held, free] = await queue.add({}, {});
    const { claimId } = await queue.claim(2);
    await makeStale(database);
    await other.db.query('select from pgqueue.job where id = $1 for update', [held]);
    expect(await queue.dissolve()).toMatchObject([{ id: free }]);
    expect(await queue.dissolve()).toEqual([]);
    expect(await claims()).toEqual([claimId]);
    await other.commit();
    expect(await queue.dissolve()).toMatchObject([{ id: held }]);
    expect(await claims()).toEqual([]);
  });

  it('holds jobs of more claims than one round takes: frees the jobs of all others', async () => {
    const ids = await queue.add(...Array.from({ length: 60 }, () => ({})));
    for (const _ of ids) await queue.claim(1);
    await makeStale(database);
    await database.query(`update pgqueue.claim set heartbeat_at = heartbeat_at + job_ids[1] * interval '1 s'`);
    await other.db.query('select from pgqueue.job where id = any($1) for update', [ids.slice(0, 50)]);
    expect((await queue.dissolve()).map(({ id }) => id)).toEqual(ids.slice(50));
  });

  it('holds a claim: frees the jobs of the others', async () => {
    const [, free] = await queue.add({}, {});
    const [held] = [await queue.claim(1), await queue.claim(1)];
    await makeStale(database);
    await other.db.query('select from pgqueue.claim where claim_id = $1 for update', [held.claimId]);
    expect(await queue.dissolve()).toMatchObject([{ id: free }]);
    expect(await claims()).toEqual([held.claimId]);
  });

  it('dissolves too: frees each job once', async () => {
    await queue.add({}, {});
    await queue.claim(2);
    await makeStale(database);
    expect(await queueOn(other.db).dissolve()).toHaveLength(2);
    expect(await queue.dissolve()).toEqual([]);
    await other.rollback();
    expect(await queue.dissolve()).toHaveLength(2);
  });

  it('beats: spares the claim, whose heartbeat is fresh once that is committed', async () => {
    await queue.add({});
    const claim = await queue.claim(1);
    await makeStale(database);
    expect(await queueOn(other.db).beat(claim)).toEqual(new Set([claim.claimId]));
    expect(await queue.dissolve()).toEqual([]);
    await other.commit();
    expect(await queue.dissolve()).toEqual([]);
    expect(await claims()).toEqual([claim.claimId]);
  });

  it('beats after it: the beat does not wait, and knows of the loss when that is committed', async () => {
    await queue.add({});
    const claim = await queue.claim(1);
    await makeStale(database);
    await queueOn(other.db).dissolve();
    expect(await queue.beat(claim)).toEqual(new Set([claim.claimId]));
    await other.commit();
    expect(await queue.beat(claim)).toEqual(new Set());
  });
});

describe('a beat beside a session that holds a claim', () => {
  it('renews all others at once and takes the held one for alive', async () => {
    const database = await createTestDatabase();
    const queue = onPool(database);
    const other = await openSession(database);
    await queue.add({}, {});
    const [held, free] = [await queue.claim(1), await queue.claim(1)];
    await makeStale(database);
    await other.begin();
    await other.db.query('select from pgqueue.claim where claim_id = $1 for update', [held.claimId]);
    expect(await queue.beat(held, free)).toEqual(new Set([held.claimId, free.claimId]));
    const fresh = `select claim_id from pgqueue.claim where heartbeat_at > clock_timestamp() - interval '10 s'`;
    expect(await database.query(fresh)).toEqual([{ claim_id: free.claimId }]);
    await other.end();
    await database.drop();
  });
});

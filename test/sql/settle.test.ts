import type { Outcome } from '../../lib/domain/outcome.js';
import { poolDatabase } from '../../lib/sql/database.js';
import { settleJobs } from '../../lib/sql/settle.js';
import {
  createTestDatabase,
  FAILED,
  names,
  onPool,
  type Queue,
  RELEASED,
  SUCCESSFUL,
  takeAway,
  type TestDatabase,
} from '../support/index.js';

const RETRIED: Outcome = {
  type: 'retried',
  delay: 60_000,
  error: { message: 'Error: not yet', stack: 'Error: not yet\n    at there' },
};

describe('a settle', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  const jobs = () => database.query('select id, status, wait, attempt, claim_id from pgqueue.job order by id');
  const log = () =>
    database.query('select job_id, attempt, status, claim_id, error, stack from pgqueue.job_log order by job_id');

  it('moves a successful job from the table to the log', async () => {
    const [id] = await queue.add({});
    const claim = await queue.claim(1);
    expect(await queue.settle(claim, SUCCESSFUL)).toEqual([id]);
    expect(await jobs()).toEqual([]);
    expect(await log()).toEqual([
      { job_id: id, attempt: 1, status: 'successful', claim_id: claim.claimId, error: null, stack: null },
    ]);
  });

  it('holds a failed job, which nobody claims again', async () => {
    const [id] = await queue.add({});
    const { claimId, ...claim } = await queue.claim(1);
    await queue.settle({ claimId, ...claim }, FAILED);
    expect(await jobs()).toEqual([{ id, status: 'failed', wait: 'ready', attempt: 1, claim_id: null }]);
    expect(await log()).toMatchObject([
      { attempt: 1, status: 'failed', claim_id: claimId, error: 'Error: no', stack: 'Error: no\n    at here' },
    ]);
    expect((await queue.claim(1)).ids).toEqual([]);
  });

  it('puts a retried job off by its delay, by the clock of the database', async () => {
    const [id] = await queue.add({});
    const claim = await queue.claim(1);
    const [before] = await database.query<{ at: Date }>(`select clock_timestamp() + interval '60 s' as at`);
    await queue.settle(claim, RETRIED);
    expect(await jobs()).toEqual([{ id, status: 'queued', wait: 'later', attempt: 1, claim_id: null }]);
    const due = `select from pgqueue.job where run_at between $1 and clock_timestamp() + interval '60 s'`;
    expect(await database.query(due, [before?.at])).toHaveLength(1);
    expect(await log()).toMatchObject([{ attempt: 1, status: 'retried', error: 'Error: not yet' }]);
  });

  it('gives a released job back as it was, and says nothing of it in the log', async () => {
    const [id] = await queue.add({ maxAttempts: 1 });
    await queue.settle(await queue.claim(1), RELEASED);
    expect(await jobs()).toEqual([{ id, status: 'queued', wait: 'ready', attempt: 0, claim_id: null }]);
    expect(await log()).toEqual([]);
    expect((await queue.claim(1)).jobs).toMatchObject([{ id, attempt: 1, maxAttempts: 1 }]);
  });

  it('leaves a job that was released before it was trusted under suspicion', async () => {
    await queue.add({});
    await queue.claim(1);
    await takeAway(database);
    await queue.settle(await queue.claim(1, { alone: true }), RELEASED);
    expect(await jobs()).toMatchObject([{ status: 'queued', wait: 'alone', attempt: 0 }]);
    await queue.settle(await queue.claim(1, { alone: true }), RETRIED);
    expect(await jobs()).toMatchObject([{ status: 'queued', wait: 'later', attempt: 1 }]);
  });

  it('writes different outcomes of several claims in one statement', async () => {
    const ids = await queue.add({}, {}, {});
    const claims = [await queue.claim(1), await queue.claim(1), await queue.claim(1)];
    const outcomes = [SUCCESSFUL, FAILED, RETRIED];
    const settlements = claims.map(({ claimId }, index) => ({
      id: ids[index]!,
      claimId,
      outcome: outcomes[index]!,
      duration: 1,
    }));
    const db = poolDatabase(() => database.pool);
    const { jobs: settled } = await settleJobs(db, names, settlements, { worker: 'test', notify: true });
    expect(settled).toHaveLength(3);
    expect(await log()).toMatchObject([{ status: 'successful' }, { status: 'failed' }, { status: 'retried' }]);
    expect(await jobs()).toMatchObject([{ status: 'failed' }, { status: 'queued', wait: 'later' }]);
  });
});

describe('the fence of a settle', () => {
  let database: TestDatabase;
  let queue: Queue;
  let id: string;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    [id] = (await queue.add({ maxAttempts: 9 })) as [string];
  });
  afterEach(() => database.drop());

  const OUTCOMES: Outcome[] = [SUCCESSFUL, FAILED, RETRIED, RELEASED];

  it.each(OUTCOMES)('refuses $type of a claim whose job is claimed anew, by the same worker too', async (outcome) => {
    const lost = await queue.claim(1, { as: 'host:1' });
    await takeAway(database);
    const current = await queue.claim(1, { as: 'host:1', alone: true });
    expect(current.ids).toEqual([id]);

    expect(await queue.settle(lost, outcome)).toEqual([]);
    expect(await database.query('select id, status, attempt, claim_id from pgqueue.job')).toEqual([
      { id, status: 'picked', attempt: 1, claim_id: current.claimId },
    ]);
    expect(await queue.settle(current, SUCCESSFUL)).toEqual([id]);
    expect(await queue.settle(lost, outcome)).toEqual([]);
    expect(await database.query(`select claim_id from pgqueue.job_log where status <> 'lost'`)).toEqual([
      { claim_id: current.claimId },
    ]);
  });

  it.each(OUTCOMES)('refuses $type of a job that is queued again', async (outcome) => {
    const lost = await queue.claim(1);
    await takeAway(database);
    expect(await queue.settle(lost, outcome)).toEqual([]);
    expect(await database.query('select status, wait, attempt from pgqueue.job')).toEqual([
      { status: 'queued', wait: 'alone', attempt: 0 },
    ]);
    expect(await database.query(`select from pgqueue.job_log where status <> 'lost'`)).toEqual([]);
  });

  it.each(OUTCOMES)('refuses a second $type', async (outcome) => {
    const claim = await queue.claim(1);
    expect(await queue.settle(claim, outcome)).toEqual([id]);
    expect(await queue.settle(claim, outcome)).toEqual([]);
    expect((await database.query('select from pgqueue.job_log')).length).toBe(outcome.type === 'released' ? 0 : 1);
  });

  it('refuses one job and writes its neighbours', async () => {
    const [next] = await queue.add({});
    const claim = await queue.claim(2);
    await database.query(`update pgqueue.job set status = 'queued', claim_id = null where id = $1`, [id]);
    expect(await queue.settle(claim, SUCCESSFUL)).toEqual([next]);
  });

  it('knows a beat of a lost claim by its absence, and leaves the heartbeat of its successor', async () => {
    const lost = await queue.claim(1);
    await takeAway(database);
    const current = await queue.claim(1, { alone: true });
    const heartbeats = () => database.query('select claim_id, heartbeat_at from pgqueue.claim');
    const before = await heartbeats();
    expect(await queue.beat(lost)).toEqual(new Set());
    expect(await heartbeats()).toEqual(before);
    expect(await queue.beat(lost, current)).toEqual(new Set([current.claimId]));
  });
});

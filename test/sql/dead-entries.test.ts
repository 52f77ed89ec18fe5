import { poolDatabase } from '../../lib/sql/database.js';
import { readHead } from '../../lib/sql/head.js';
import { readOutlook } from '../../lib/sql/promote.js';
import { settleJobs } from '../../lib/sql/settle.js';
import {
  type Claim,
  createTestDatabase,
  explain,
  names,
  onPool,
  openSession,
  queueOn,
  type Session,
  SUCCESSFUL,
  type TestDatabase,
} from '../support/index.js';

const DEAD = 50_000;
const BATCH = 100;
// Jobs without a payload.
const MOST_ON_A_PAGE = 80;
const MOST_BUFFERS = 50;
const LIVING = 3 * BATCH;

describe(`where a transaction elsewhere keeps ${DEAD} jobs that have ended from being removed`, () => {
  let database: TestDatabase;
  let report: Session;
  let last: Claim;
  beforeAll(async () => {
    database = await createTestDatabase();
    const queue = onPool(database);
    await queue.add('old');
    report = await openSession(database);
    await report.db.query('begin isolation level repeatable read');
    await report.db.query('select count(*) from pgqueue.job');
    await database.query(`insert into pgqueue.job (entrypoint) select 'work' from generate_series(1, ${DEAD})`);
    for (let ended = 0; ended < DEAD; ended += last.ids.length) {
      last = await queue.claim(1_000);
      await queue.settle(last, SUCCESSFUL);
    }
    await queue.add(...Array.from({ length: LIVING }, () => 'work'));
  });
  afterAll(async () => {
    await report.rollback();
    await report.end();
    await database.drop();
  });

  const behind = () => ({ entrypoint: 'work', priority: 0, after: last.ids.at(-1)! });

  it('vacuum cannot help', async () => {
    await database.query('vacuum pgqueue.job');
    const [row] = await database.query<{ dead: number }>(
      `select n_dead_tup::int as dead from pg_stat_user_tables where relname = 'job'`,
    );
    expect(row?.dead).toBeGreaterThanOrEqual(DEAD);
  });

  it('a claim from the head, or a look at it, reads the pages of all of them; one behind the last that ended, or of what was seen, only what it takes', async () => {
    const head = await explain(database, (db) => queueOn(db).claim(1));
    const look = await explain(database, (db) => readHead(db, names, ['work'], 1));
    for (const { buffers } of [head, look]) expect(buffers).toBeGreaterThan(DEAD / MOST_ON_A_PAGE);
    const [{ id } = { id: '' }] = (
      await readHead(
        poolDatabase(() => database.pool),
        names,
        ['work'],
        1,
      )
    ).jobs;
    const next = await explain(database, (db) => queueOn(db).claim(1, { behind: behind() }));
    const seen = await explain(database, (db) => queueOn(db).claim(1, { seen: [id] }));
    for (const { buffers, readWhole } of [next, seen]) {
      expect(buffers).toBeLessThan(MOST_BUFFERS);
      expect(readWhole).not.toContain('job');
    }
  });

  it('an outlook reads them only to learn whether there is something to claim', async () => {
    const outlook = (ready: boolean) =>
      explain(database, (db) => readOutlook(db, names, ['work'], { suspicion: 1, heartbeatTimeout: 30_000, ready }));
    expect((await outlook(true)).buffers).toBeGreaterThan(DEAD / MOST_ON_A_PAGE);
    expect((await outlook(false)).buffers).toBeLessThan(MOST_BUFFERS);
  });

  it('both find the same jobs, and none that has ended', async () => {
    const [head, next] = [
      await onPool(database).claim(BATCH),
      await onPool(database).claim(BATCH, { behind: behind() }),
    ];
    expect(Number(head.ids[0])).toBeGreaterThan(Number(behind().after));
    expect(next.ids).toHaveLength(BATCH);
    expect(Number(next.ids[0])).toBe(Number(head.ids.at(-1)) + 1);
    expect(await onPool(database).settle(head, SUCCESSFUL)).toEqual(head.ids);
    expect(await onPool(database).settle(next, SUCCESSFUL)).toEqual(next.ids);
  });

  it('to settle, to beat and to remove a claim reads a few pages for each of its jobs', async () => {
    const claim = await onPool(database).claim(BATCH, { behind: behind() });
    const settlements = claim.ids.map((id) => ({ id, claimId: claim.claimId, outcome: SUCCESSFUL, duration: 1 }));
    const context = { worker: 'test', notify: true, ended: [last.claimId] };
    const settle = await explain(database, (db) => settleJobs(db, names, settlements, context));
    const beat = await explain(database, (db) => queueOn(db).beat(claim));
    const reap = await explain(database, (db) => queueOn(db).reap(claim));
    for (const { buffers, readWhole } of [settle, beat, reap]) {
      expect(readWhole).not.toContain('job');
      expect(buffers).toBeLessThan(MOST_BUFFERS * BATCH);
    }
  });
});

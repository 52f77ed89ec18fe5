import { poolDatabase } from '../../lib/sql/database.js';
import { countLogPages, type LogAges, pruneLog, pruneStatistics } from '../../lib/sql/retention.js';
import { settleJobs } from '../../lib/sql/settle.js';
import {
  createTestDatabase,
  explain,
  names,
  onPool,
  openSession,
  SUCCESSFUL,
  type TestDatabase,
} from '../support/index.js';

const MINUTE = 60_000;
const AGES: LogAges = { successful: 10 * MINUTE, failed: 30 * MINUTE };
const STATUSES = ['successful', 'retried', 'failed', 'exception', 'canceled', 'lost', 'deleted'];
const ALL = { from: 0, to: 1_000_000 };

describe('the retention of the log', () => {
  let database: TestDatabase;
  const db = () => poolDatabase(() => database.pool);
  beforeEach(async () => void (database = await createTestDatabase()));
  afterEach(() => database.drop());

  const write = (minutes: number, count = 1, statuses = STATUSES) =>
    database.query(
      `insert into pgqueue.job_log (job_id, entrypoint, attempt, status, ended_at)
       select n, 'work', 1, status, clock_timestamp() - $1 * interval '1 minute'
       from generate_series(1, $2) n cross join unnest($3::text[]) as status`,
      [minutes, count, statuses],
    );
  const left = async () => {
    const rows = await database.query<{ status: string }>('select distinct status from pgqueue.job_log order by 1');
    return rows.map(({ status }) => status);
  };
  const size = async () => Number((await database.query('select count(*) from pgqueue.job_log'))[0]!['count']);

  it('ends by what became of the attempt, whether its job is alive or not', async () => {
    await onPool(database).add('work', 'work');
    await write(0);
    for (const [minutes, kept] of [
      [9.9, STATUSES.toSorted()],
      [10.1, STATUSES.filter((status) => status !== 'successful').toSorted()],
      [29.9, STATUSES.filter((status) => status !== 'successful').toSorted()],
      [30.1, []],
    ] as const) {
      await database.query(`update pgqueue.job_log set ended_at = clock_timestamp() - $1 * interval '1 minute'`, [
        minutes,
      ]);
      expect(await pruneLog(db(), names, ALL, AGES)).toBe(false);
      expect(await left()).toEqual(kept);
    }
  });

  it('ends in batches of 5,000, and tells whether there is more', async () => {
    await write(60, 7_000, ['successful']);
    expect(await pruneLog(db(), names, ALL, AGES)).toBe(true);
    expect(await size()).toBe(2_000);
    expect(await pruneLog(db(), names, ALL, AGES)).toBe(false);
    expect(await size()).toBe(0);
  });

  it('waits neither for rows that somebody has locked nor for others that prune', async () => {
    await write(60, 10, ['failed']);
    const [holder, other] = [await openSession(database), await openSession(database)];
    await holder.begin();
    await holder.db.query('select from pgqueue.job_log where job_id <= 3 for update');
    await other.begin();
    await other.db.query('delete from pgqueue.job_log where job_id between 4 and 5');
    await pruneLog(db(), names, ALL, AGES);
    expect(await size()).toBe(5);
    await other.rollback();
    await holder.rollback();
    await pruneLog(db(), names, ALL, AGES);
    expect(await size()).toBe(0);
    await Promise.all([holder.end(), other.end()]);
  });

  it('looks at nothing but the pages that it is told, whatever else is in the log', async () => {
    await write(60, 20_000, ['failed']);
    await write(1, 20_000, ['failed']);
    await database.query('analyze pgqueue.job_log');
    const pages = await countLogPages(db(), names);
    const stretch = { from: pages - 60, to: pages };
    const { buffers, nodes } = await explain(database, (on) => pruneLog(on, names, stretch, AGES));
    expect(nodes).toContain('Tid Range Scan');
    expect(buffers).toBeLessThan(70);
  });

  it('leaves the table of jobs alone', async () => {
    await write(60, 100);
    const session = await openSession(database);
    await session.begin();
    await session.db.query('lock table pgqueue.job in access exclusive mode');
    await pruneLog(db(), names, ALL, AGES);
    expect(await size()).toBe(0);
    await session.rollback();
    await session.end();
  });

  it.each([
    [true, ['awaited', 'plain']],
    [false, ['awaited']],
  ])('of successful attempts can be none, but for those that somebody waits for: %s', async (logSuccess, logged) => {
    const queue = onPool(database);
    await queue.add('plain', 'awaited');
    await database.query(`update pgqueue.job set awaited = true where entrypoint = 'awaited'`);
    const { claimId, ids } = await queue.claim(2, { entrypoints: ['plain', 'awaited'] });
    const settlements = ids.map((id) => ({ id, claimId, outcome: SUCCESSFUL, duration: 1 }));
    await settleJobs(db(), names, settlements, { worker: 'test', notify: true, logSuccess });
    expect(await database.query('select entrypoint from pgqueue.job_log order by 1')).toEqual(
      logged.map((entrypoint) => ({ entrypoint })),
    );
    expect(await database.query('select from pgqueue.statistic_delta')).toHaveLength(2);
    expect(await database.query('select from pgqueue.job')).toEqual([]);
  });

  it('of failures is not ended by that of successful attempts', async () => {
    const queue = onPool(database);
    await queue.add('work');
    const { claimId, ids } = await queue.claim(1);
    const outcome = { type: 'failed', error: { message: 'no', stack: null } } as const;
    await settleJobs(db(), names, [{ id: ids[0]!, claimId, outcome, duration: 1 }], {
      worker: 'test',
      notify: true,
      logSuccess: false,
    });
    expect(await left()).toEqual(['failed']);
  });

  it('of statistics ends by their minute, from its index', async () => {
    await database.query(`
      insert into pgqueue.statistic
      select date_bin('1 minute', now(), 'epoch') - n * interval '1 minute', 'work', 1, 0, 0, 0, 0, 0, '{10}', '{1}'
      from generate_series(0, 43199) n`);
    await database.query('analyze pgqueue.statistic');
    const idle = await explain(database, (on) => pruneStatistics(on, names, 43_200 * MINUTE));
    expect(idle.buffers).toBeLessThan(20);
    expect(await pruneStatistics(db(), names, 40_000 * MINUTE)).toBe(false);
    expect(await pruneStatistics(db(), names, 100 * MINUTE)).toBe(true);
    while (await pruneStatistics(db(), names, 100 * MINUTE));
    const [{ count }] = (await database.query<{ count: string }>('select count(*) from pgqueue.statistic')) as [
      { count: string },
    ];
    expect([100, 101]).toContain(Number(count));
  });
});

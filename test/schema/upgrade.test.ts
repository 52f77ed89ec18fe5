import { pgQueueMigrations } from 'nestjs-pgqueue';
import { DataSource, type QueryRunner } from 'typeorm';
import { createTestDatabase, onPool, SUCCESSFUL, type TestDatabase } from '../support/index.js';
import { boot } from './boot.js';

const ROWS = `
  insert into pgqueue.job (entrypoint, payload) values ('work', '{"n": 1}');
  insert into pgqueue.job (entrypoint, payload, wait, run_at) values ('work', '2', 'later', now() + interval '1 h');
  insert into pgqueue.job (entrypoint, status, claim_id, attempt, max_attempts)
    values ('work', 'picked', '6f9619ff-8b86-4011-b42d-00c04fc964ff', 1, 5);
  insert into pgqueue.job (entrypoint, status, attempt) values ('work', 'failed', 5);
  insert into pgqueue.claim values ('6f9619ff-8b86-4011-b42d-00c04fc964ff', clock_timestamp(), 'old worker', '{3}');
  insert into pgqueue.job_log (job_id, entrypoint, attempt, status) values
    (4, 'work', 4, 'retried'), (4, 'work', 5, 'failed'), (3, 'work', 1, 'lost'), (9, 'work', 1, 'successful')`;
// A statement of the producer of version 1.
const OLD_INSERT = `
  insert into pgqueue.job (entrypoint, payload, headers, priority, max_attempts, run_at, wait)
  values ('old', '1', null, 0, null, clock_timestamp(), 'ready')`;

describe('a database of version 1 with jobs in all states', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let runner: QueryRunner;
  beforeEach(async () => {
    database = await createTestDatabase({ empty: true });
    dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    runner = dataSource.createQueryRunner();
    const [First] = pgQueueMigrations();
    await new First!().up(runner);
    await database.query(ROWS);
  });
  afterEach(async () => {
    await runner.release();
    await dataSource.destroy();
    await database.drop();
  });

  const rows = async () => ({
    jobs: await database.query(`
      select id, entrypoint, payload::text, status, wait, attempt, claim_id, run_at, created_at from pgqueue.job order by id`),
    claims: await database.query('select claim_id, heartbeat_at, worker, job_ids from pgqueue.claim'),
    log: await database.query(
      'select job_id, attempt, status, ended_at from pgqueue.job_log order by ended_at, attempt',
    ),
  });
  const migrate = async (direction: 'up' | 'down') => {
    const later = pgQueueMigrations().slice(1);
    for (const Migration of direction === 'up' ? later : later.reverse()) await new Migration()[direction](runner);
  };

  it('keeps them all on the way up, and down again', async () => {
    const before = await rows();
    await migrate('up');
    expect(await rows()).toEqual(before);
    await migrate('down');
    expect(await rows()).toEqual(before);
    expect(await database.query('select version from pgqueue.migration')).toEqual([{ version: 1 }]);
    await migrate('up');
    expect(await rows()).toEqual(before);
  });

  it('goes on: old statements beside new ones, and what an old worker has claimed is settled', async () => {
    const { queue, close } = await boot(database.url);
    await database.query(OLD_INSERT);
    const options = { dedupeKey: 'a' };
    const { id } = await queue.enqueue('work', 'new', options);
    expect(await queue.enqueue('work', 'new', options)).toEqual({ id, duplicate: true });
    const claim = await onPool(database).claim(10, { entrypoints: ['work', 'old'] });
    expect(claim.jobs.map(({ entrypoint }) => entrypoint)).toEqual(['work', 'old', 'work']);
    const old = { ...claim, claimId: '6f9619ff-8b86-4011-b42d-00c04fc964ff', ids: ['3'] };
    expect(await onPool(database).settle(old, SUCCESSFUL)).toEqual(['3']);
    await close();
  });

  it('loses on the way down only what version 1 can not tell', async () => {
    await migrate('up');
    await onPool(database).add({ entrypoint: 'keyed', dedupeKey: 'a' });
    await database.query(
      `insert into pgqueue.job_log (job_id, entrypoint, attempt, status) values (7, 'work', 1, 'canceled')`,
    );
    await migrate('down');
    const { jobs, log } = await rows();
    expect([jobs.length, log.length]).toEqual([5, 4]);
    await database.query(OLD_INSERT);
  });
});

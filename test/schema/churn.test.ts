import { pgQueueMigrations } from 'nestjs-pgqueue';
import { DataSource, type QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/index.js';

describe('tables whose rows soon die', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let runner: QueryRunner;
  beforeEach(async () => {
    database = await createTestDatabase();
    dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    runner = dataSource.createQueryRunner();
  });
  afterEach(async () => {
    await runner.release();
    await dataSource.destroy();
    await database.drop();
  });

  const settings = async () => {
    const rows = await database.query<{ option: string }>(`
      select format('%s %s%s', c.relname, case when r.oid <> c.oid then 'toast.' end, option) as option
      from pg_class c join pg_class r on r.oid in (c.oid, c.reltoastrelid), unnest(r.reloptions) as option
      where c.oid in ('pgqueue.job'::regclass, 'pgqueue.claim'::regclass) and option like '%vacuum%' order by 1`);
    return rows.map(({ option }) => option);
  };
  const again = async (between: string) => {
    const Last = pgQueueMigrations()[4]!;
    await new Last().down(runner);
    const reverted = await settings();
    await database.query(between);
    await new Last().up(runner);
    return reverted;
  };

  const OURS = [
    'autovacuum_vacuum_cost_delay=0',
    'autovacuum_vacuum_scale_factor=0.01',
    'autovacuum_vacuum_threshold=2000',
    'toast.vacuum_truncate=false',
    'vacuum_truncate=false',
  ];

  it('are vacuumed by the number of rows, until the migration is reverted', async () => {
    const set = ['claim', 'job'].flatMap((table) => OURS.map((option) => `${table} ${option}`));
    expect((await settings()).toSorted()).toEqual(set.toSorted());
    expect(await again('')).toEqual([]);
    expect((await settings()).toSorted()).toEqual(set.toSorted());
  });

  it('keep what their owner has set, on the way up and down', async () => {
    const own = ['job autovacuum_vacuum_threshold=7', 'claim toast.autovacuum_enabled=false'].toSorted();
    await again(`
      alter table pgqueue.job set (autovacuum_vacuum_threshold = 7);
      alter table pgqueue.claim set (toast.autovacuum_enabled = false)`);
    expect((await settings()).toSorted()).toEqual(own);
    expect((await again('')).toSorted()).toEqual(own);
  });

  it('have room in their primary key for what claims add, unless their owner has set that', async () => {
    const Room = pgQueueMigrations()[5]!;
    const options = async () =>
      (
        await database.query<{ o: unknown }>(
          `select reloptions as o from pg_class where oid = 'pgqueue.job_pkey'::regclass`,
        )
      )[0]?.o;
    expect(await options()).toEqual(['fillfactor=50']);
    await new Room().down(runner);
    expect(await options()).toBeNull();
    await database.query('alter index pgqueue.job_pkey set (fillfactor = 70)');
    await new Room().up(runner);
    expect(await options()).toEqual(['fillfactor=70']);
    await new Room().down(runner);
    expect(await options()).toEqual(['fillfactor=70']);
  });

  it.each([
    ['an unknown status', `status = 'done'`],
    ['a claim while it is queued', `claim_id = gen_random_uuid()`],
    ['no claim while it is picked', `status = 'picked'`],
    ['a claim though it has failed', `status = 'failed', claim_id = gen_random_uuid()`],
  ])('refuse a job with %s, before the migration and after', async (_, change) => {
    await database.query(`insert into pgqueue.job (entrypoint) values ('work')`);
    const update = () => database.query(`update pgqueue.job set ${change}`);
    await expect(update()).rejects.toMatchObject({ code: '23514' });
    await new (pgQueueMigrations()[4]!)().down(runner);
    await expect(update()).rejects.toMatchObject({ code: '23514' });
  });
});

import { Pool } from 'pg';
import { poolDatabase } from '../../lib/sql/database.js';
import { createTestDatabase, type TestDatabase } from '../support/index.js';

describe('a transaction of ours', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeEach(async () => {
    database = await createTestDatabase({ empty: true });
    pool = new Pool({ connectionString: database.url, max: 1 });
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const db = poolDatabase(() => pool);
  const pid = async () => (await db.query('select pg_backend_pid() as pid'))[0]?.['pid'];

  it('leaves its connection to others when it commits', async () => {
    const before = await pid();
    await db.transaction((own) => own.query('select 1'));
    expect(await pid()).toBe(before);
  });

  it.each(['select 1 / 0', `select set_config('default_transaction_read_only', 'on', false), 1 / 0`])(
    'gives up its connection when it fails, for where that leads may be what is wrong: %s',
    async (statement) => {
      const before = await pid();
      await expect(db.transaction((own) => own.query(statement))).rejects.toMatchObject({ code: '22012' });
      expect(await pid()).not.toBe(before);
    },
  );

  it('does not wait for the rollback of what gets no answer', async () => {
    const startedAt = performance.now();
    const slow = db.transaction((own) => own.query('select pg_sleep(5)', [], { timeout: 100 }));
    await expect(slow).rejects.toThrow('Query read timeout');
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    await database.query(`select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(5)%'
      and pid <> pg_backend_pid()`);
  });
});

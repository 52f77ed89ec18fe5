import { once } from 'node:events';
import { Pool } from 'pg';
import { type Database, ownDatabase, poolDatabase, readCommittedDatabase } from '../../lib/sql/database.js';
import { createTestDatabase, hasPooler, onPool, queueOn, startPooler, type TestDatabase } from '../support/index.js';

const OWN = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  jit: 'off',
  default_transaction_isolation: 'read committed',
};
const SETTINGS = Object.keys(OWN).map((name) => `current_setting('${name}') as ${name}`);

// It is prepared where ours are, and then lists itself.
const PREPARED = 'select name, statement, generic_plans, custom_plans from pg_prepared_statements';

let database: TestDatabase;
let closers: (() => Promise<unknown>)[];
beforeEach(async () => {
  database = await createTestDatabase();
  closers = [() => database.drop()];
});
afterEach(async () => {
  for (const close of closers.toReversed()) await close();
});

/** A pool of one connection, so that what is asked through it is asked of the backend that has worked. */
function onePool(url = database.url): Pool {
  const pool = new Pool({ connectionString: url, max: 1 });
  closers.push(() => pool.end());
  return pool;
}

const settingsOf = async (pool: Pool) => (await pool.query(`select ${SETTINGS.join(', ')}`)).rows[0];
const isolationOf = async (db: Database) =>
  (await db.query(`select current_setting('transaction_isolation') as level`))[0]?.['level'];

async function makeStricter(level: string): Promise<void> {
  const name = new URL(database.url).pathname.slice(1);
  await database.query(`alter database ${name} set default_transaction_isolation = '${level}'`);
}

describe('a direct connection of a worker', () => {
  it('prepares each statement once, and plans it once for all values', async () => {
    const pool = onePool();
    const queue = queueOn(ownDatabase(pool));
    await onPool(database).add('work', 'work', 'work');
    for (const entrypoints of [
      ['work', 'none'],
      ['none', 'work'],
      ['work', 'none', 'nothing'],
    ]) {
      expect((await queue.claim(1, { entrypoints })).ids).toHaveLength(1);
    }
    expect((await pool.query(PREPARED)).rows).toEqual([
      {
        name: expect.stringMatching(/^pgqueue_[0-9a-f]{16}$/) as string,
        statement: expect.stringContaining('ids as materialized') as string,
        generic_plans: '3',
        custom_plans: '0',
      },
    ]);
  });

  it('keeps two statements apart that begin alike', async () => {
    const db = ownDatabase(onePool());
    const long = `select ${'1 + '.repeat(100)}`;
    expect(await db.query(`${long} 1 as sum`)).toEqual([{ sum: '101' }]);
    expect(await db.query(`${long} 2 as sum`)).toEqual([{ sum: '102' }]);
    expect(await db.query(`${long} 1 as sum`)).toEqual([{ sum: '101' }]);
  });

  it('has its own settings from its first statement on, and so has the one that follows when it breaks', async () => {
    const pool = onePool();
    const db = ownDatabase(pool);
    const [first] = await db.query(`select pg_backend_pid() as pid, current_setting('enable_seqscan') as seqscan`);
    expect(first).toMatchObject({ seqscan: 'off' });
    expect(await settingsOf(pool)).toEqual(OWN);
    const broken = once(pool, 'error');
    await database.query('select pg_terminate_backend($1, 5000)', [first?.['pid']]);
    await broken;
    const [second] = await db.query('select pg_backend_pid() as pid');
    expect(second?.['pid']).not.toBe(first?.['pid']);
    expect(await settingsOf(pool)).toEqual(OWN);
  });

  it.each(['repeatable read', 'serializable'])('is READ COMMITTED where the default is %s', async (level) => {
    await makeStricter(level);
    const plain = onePool();
    expect(await isolationOf(poolDatabase(() => plain))).toBe(level);
    const db = ownDatabase(onePool());
    expect(await isolationOf(db)).toBe('read committed');
    expect(await db.transaction(isolationOf)).toBe('read committed');
  });

  it('goes on when somebody has thrown away what was prepared', async () => {
    const pool = onePool();
    const queue = queueOn(ownDatabase(pool));
    await onPool(database).add('work', 'work', 'work');
    await queue.claim(1);
    await pool.query('deallocate all');
    expect((await queue.claim(1)).ids).toEqual(['2']);
    expect((await queue.claim(1)).ids).toEqual(['3']);
  });

  it('refuses a statement without harm to those that follow', async () => {
    const pool = onePool();
    const db = ownDatabase(pool);
    await expect(db.query('select 1 / $1::int as one', [0])).rejects.toMatchObject({ code: '22012' });
    expect(await db.query('select 1 / $1::int as one', [1])).toEqual([{ one: '1' }]);
    expect(await settingsOf(pool)).toEqual(OWN);
  });
});

describe('a connection of the application', () => {
  it('is left as it is, but for the inserts that it keeps prepared', async () => {
    const pool = onePool();
    const before = await settingsOf(pool);
    const queue = queueOn(readCommittedDatabase(() => pool));
    await queue.add('work');
    await queue.add('work', 'work');
    await queue.add({ dedupeKey: 'only' });
    await queue.claim(1);
    expect(await settingsOf(pool)).toEqual(before);
    const { rows } = await pool.query<{ statement: string }>(PREPARED);
    expect(rows.map(({ statement }) => /insert into|enqueue_\w+/.exec(statement)?.[0]).toSorted()).toEqual([
      'enqueue_jobs',
      'enqueue_plain',
      'insert into',
    ]);
  });

  it('inserts each job once when somebody has thrown away what was prepared, or prepares it as well', async () => {
    const pool = onePool();
    const queue = queueOn(readCommittedDatabase(() => pool));
    await queue.add('work');
    await pool.query('discard all');
    expect(await queue.add('work')).toEqual(['2']);
    expect(await queue.add('work')).toEqual(['3']);
    const other = onePool();
    await onPool({ pool: other }).add('work');
    const [{ name, statement }] = (await onePrepared()) as [{ name: string; statement: string }];
    await other.query(`prepare ${name} as ${statement}`);
    expect(await queueOn(readCommittedDatabase(() => other)).add('work')).toEqual(['6']);
    expect(await database.query('select from pgqueue.job')).toHaveLength(6);
  });

  async function onePrepared() {
    const pool = onePool();
    await queueOn(readCommittedDatabase(() => pool)).add('work');
    return (await pool.query(PREPARED)).rows;
  }

  it('is known for what it is, whatever the application makes of the types of values', async () => {
    const shout = { getTypeParser: () => (value: string | Buffer) => String(value).toUpperCase() };
    const pool = new Pool({ connectionString: database.url, max: 1, types: shout });
    closers.push(() => pool.end());
    await queueOn(readCommittedDatabase(() => pool)).add('work');
    expect((await pool.query(PREPARED)).rows).toHaveLength(1);
  });

  it('in a transaction of its owner prepares nothing', async () => {
    const pool = onePool();
    await readCommittedDatabase(() => pool).transaction((db) => queueOn(db).add('work'));
    expect((await pool.query(PREPARED)).rows).toEqual([]);
  });
});

const describeWithPooler = hasPooler() || process.env['CI'] ? describe : describe.skip;

describeWithPooler.each(['transaction', 'session'] as const)('a connection through PgBouncer in %s mode', (mode) => {
  async function startPools() {
    const before = await settingsOf(database.pool);
    const pooler = await startPooler(database.url, mode);
    closers.push(() => pooler.stop());
    return { before, pool: onePool(pooler.url) };
  }

  it('prepares nothing and sets nothing, for what it sets would be there for others', async () => {
    const { before, pool } = await startPools();
    const queue = queueOn(ownDatabase(pool));
    await queue.add('work');
    expect((await queue.claim(1)).ids).toEqual(['1']);
    await queueOn(readCommittedDatabase(() => pool)).add('work');
    expect(await settingsOf(pool)).toEqual(before);
    expect((await pool.query(PREPARED)).rows).toEqual([]);
  });

  it('is READ COMMITTED where the default is stricter, for as long as the statement takes', async () => {
    await makeStricter('serializable');
    const { pool } = await startPools();
    const db = ownDatabase(pool);
    expect(await isolationOf(db)).toBe('read committed');
    expect(await db.transaction(isolationOf)).toBe('read committed');
    expect(await isolationOf(poolDatabase(() => pool))).toBe('serializable');
  });
});

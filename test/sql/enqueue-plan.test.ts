import type { Pool, PoolClient } from 'pg';
import { poolDatabase } from '../../lib/sql/database.js';
import { createTestDatabase, names, onPool, queueOn, type Queue, type TestDatabase } from '../support/index.js';

const MANY = 100_000;
const SESSION_PAGES = 60; // of a call: some of each index, and of the catalog at first

const CROWD = `
  insert into pgqueue.job (entrypoint, dedupe_key) select 'work', 'key ' || n from generate_series(1, ${MANY}) n`;
const PAGES = `
  select sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::int as pages, sum(seq_scan)::int as scans
  from pg_statio_user_tables join pg_stat_user_tables using (relid) where pg_stat_user_tables.relname = 'job'`;

describe.each(['auto', 'force_generic_plan'])(`a key among ${MANY} jobs, with plan_cache_mode %s`, (mode) => {
  let database: TestDatabase;
  let client: PoolClient;
  let queue: Queue;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query('alter table pgqueue.job set (autovacuum_enabled = false)');
    client = await database.pool.connect();
    await client.query(`set plan_cache_mode = ${mode}`);
    queue = queueOn(poolDatabase(() => client as unknown as Pool));
    // Plans of this session are made for a table of one row.
    await onPool(database).add({ dedupeKey: 'first' });
    await client.query(`vacuum analyze ${names.job}`);
    for (let call = 0; call < 8; call++) await queue.add(...all('first'));
    await database.query(CROWD);
  });
  afterAll(async () => {
    client.release();
    await database.drop();
  });

  const all = (dedupeKey: string) =>
    (['skip', 'replace'] as const).map((onConflict) => ({ dedupeKey, onConflict }) as const);

  async function read() {
    await client.query('select pg_stat_force_next_flush()');
    await client.query('select 1');
    const { rows } = await client.query<{ pages: number; scans: number }>(PAGES);
    return rows[0]!;
  }

  it('is found by its index, though the plans were made while the table was small', async () => {
    const before = await read();
    for (let call = 1; call <= 10; call++) await queue.add(...all(`key ${call * 9_000}`));
    const after = await read();
    expect(after.scans - before.scans).toBe(0);
    expect((after.pages - before.pages) / 10).toBeLessThan(SESSION_PAGES);
  });
});

describe('a session that has enqueued often', () => {
  it('still takes 20,000 jobs in a time that grows with their number', async () => {
    const database = await createTestDatabase();
    const client = await database.pool.connect();
    await client.query(`set plan_cache_mode = force_generic_plan; set statement_timeout = '10s'`);
    const queue = queueOn(poolDatabase(() => client as unknown as Pool));
    const jobs = Array.from({ length: 20_000 }, (_, n) => ({ payload: `${n}`, dedupeKey: n % 2 ? `${n}` : null }));
    const ids = await queue.add(...jobs);
    const rows = await database.query<{ id: string; payload: number }>('select id, payload from pgqueue.job');
    const stored = new Map(rows.map(({ id, payload }) => [id, payload]));
    expect(ids.map((id) => stored.get(id))).toEqual(jobs.map((_, n) => n));
    client.release(true);
    await database.drop();
  });
});

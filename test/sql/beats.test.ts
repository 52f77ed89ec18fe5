import { beatClaims } from '../../lib/sql/claims.js';
import { poolDatabase } from '../../lib/sql/database.js';
import {
  createTestDatabase,
  eventually,
  makeStale,
  names,
  onPool,
  openSession,
  type Queue,
  type TestDatabase,
} from '../support/index.js';

const CLAIMS = 500;
const BEATS = 20;

describe(`beside ${CLAIMS} claims of living workers`, () => {
  let database: TestDatabase;
  let queue: Queue;
  let living: string[];
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    // Vacuum would free what beats are to free themselves.
    await database.query('alter table pgqueue.claim set (autovacuum_enabled = false)');
    await database.query(`insert into pgqueue.job (entrypoint) select 'living' from generate_series(1, ${CLAIMS})`);
    const claimed = await database.query<{ claim_id: string }>(`
      with claim as (
        insert into pgqueue.claim (claim_id, heartbeat_at, worker, job_ids)
        select gen_random_uuid(), clock_timestamp(), 'living', array[id] from pgqueue.job returning *)
      update pgqueue.job set status = 'picked', claim_id = claim.claim_id, attempt = 1, max_attempts = 5
      from claim where job.id = claim.job_ids[1] returning claim.claim_id`);
    living = claimed.map(({ claim_id }) => claim_id);
  });
  afterEach(() => database.drop());

  it('one that is silent is taken back, and none of the others', async () => {
    const [id] = await queue.add({});
    const dead = await queue.claim(1);
    await makeStale(database, dead);
    expect((await queue.dissolve()).map((job) => job.id)).toEqual([id]);
    expect(await database.query(`select from pgqueue.job where status = 'picked'`)).toHaveLength(CLAIMS);
  });

  it('one that is silent is taken back, although somebody holds all others, as silent, locked', async () => {
    const [id] = await queue.add({});
    await queue.claim(1);
    await makeStale(database);
    const user = await openSession(database);
    await user.begin();
    await user.db.query('select from pgqueue.claim where claim_id = any($1::uuid[]) for update', [living]);
    expect((await queue.dissolve()).map((job) => job.id)).toEqual([id]);
    await user.end();
  });

  it('beats are heap-only updates, but for those that find no room in their page', async () => {
    const session = await openSession(database);
    for (let beats = 0; beats < BEATS; beats++) {
      expect((await beatClaims(session.db, names, living)).alive).toEqual(new Set(living));
    }
    await session.end(); // tells the statistics
    const updates = await eventually(async () => {
      const [row] = await database.query<{ all: number; hot: number }>(`
        select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_catalog.pg_stat_user_tables
        where relid = 'pgqueue.claim'::regclass`);
      return row?.all === BEATS * CLAIMS && row;
    });
    expect(updates.hot).toBeGreaterThan((BEATS * CLAIMS) / 2); // an index on heartbeat_at makes it none
  });

  it('a beat writes a short row, however many jobs its claim has, even where an old snapshot keeps all versions', async () => {
    await database.query(`update pgqueue.claim set job_ids = array(select generate_series(1, 2000))`);
    const reader = await openSession(database);
    await reader.db.query('begin isolation level repeatable read');
    await reader.db.query('select from pgqueue.claim');
    const size = async () =>
      Number((await database.query<{ size: string }>(`select pg_table_size('pgqueue.claim') as size`))[0]?.size);
    const before = await size();
    const db = poolDatabase(() => database.pool);
    for (let beats = 0; beats < BEATS; beats++) await beatClaims(db, names, living);
    expect((await size()) - before).toBeLessThan(BEATS * CLAIMS * 150);
    await reader.end();
  });
});

describe('10,000 jobs of 1,000 dead claims', () => {
  it('are taken back in one statement, within seconds', async () => {
    const database = await createTestDatabase();
    await database.query(
      `insert into pgqueue.job (entrypoint, wait) select 'crowd', 'later' from generate_series(1, 100000)`,
    );
    await database.query(`
      with job as (
        insert into pgqueue.job (entrypoint, status, claim_id, attempt, max_attempts)
        select 'work', 'picked', md5((n / 10)::text)::uuid, 1, 5 from generate_series(0, 9999) as n returning *)
      insert into pgqueue.claim (claim_id, heartbeat_at, worker, job_ids)
      select claim_id, '-infinity', 'dead', array_agg(id) from job group by claim_id`);
    const startedAt = performance.now();
    expect(await onPool(database).dissolve()).toHaveLength(10_000);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(await database.query('select from pgqueue.claim')).toEqual([]);
    await database.drop();
  });
});

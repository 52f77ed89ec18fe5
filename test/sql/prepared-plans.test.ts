import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import type { Outcome } from '../../lib/domain/outcome.js';
import { type Database, ownDatabase } from '../../lib/sql/database.js';
import { readHead } from '../../lib/sql/head.js';
import { promoteJobs, readOutlook } from '../../lib/sql/promote.js';
import { settleJobs } from '../../lib/sql/settle.js';
import {
  type Claim,
  createTestDatabase,
  eventually,
  explainPrepared,
  FAILED,
  makeStale,
  names,
  queueOn,
  RELEASED,
  SUCCESSFUL,
  type TestDatabase,
  useWorkerGround,
} from '../support/index.js';

const MANY = 100_000;
const CLAIMS = 10_000;
const BATCH = 200;
const HOUR = 3_600_000;
const MOST_BUFFERS = 50;
const MOST_ROWS = 20;
const OUTLOOK = { suspicion: HOUR, heartbeatTimeout: 30_000, ready: true };
const SEVERAL = ['work', 'none'];
const SOME = Array.from({ length: BATCH }, (_, index) => String(1_000 + index));
const PLACE = { entrypoint: 'work', priority: 0, after: '1000' };

const FILL = `
  insert into pgqueue.job (entrypoint, wait, run_at)
  select 'work', case when n % 3 = 0 then 'later' else 'ready' end, clock_timestamp() + interval '1 day'
  from generate_series(1, ${MANY}) n;
  insert into pgqueue.claim (claim_id, heartbeat_at, worker, job_ids)
  select gen_random_uuid(), clock_timestamp(), 'living', array[n] from generate_series(1, ${CLAIMS}) n`;
const RETRIED: Outcome = { type: 'retried', delay: 1_000, error: { message: 'Error: no', stack: null } };

const promote = (db: Database) => promoteJobs(db, names, { suspicion: HOUR, notify: false });
const lookAtHead = (db: Database) => readHead(db, names, SEVERAL, BATCH);
const lookOut = (db: Database) => readOutlook(db, names, ['work', 'none'], OUTLOOK);

/** Sends each statement that a worker sends again and again. */
async function workOff(db: Database): Promise<void> {
  const queue = queueOn(db);
  await lookOut(db);
  await promote(db);
  const claim = await queue.claim(1);
  await queue.claim(1, { entrypoints: SEVERAL });
  await queue.claim(1, { behind: { ...PLACE, after: '0' } });
  await queue.claim(1, { seen: SOME });
  await lookAtHead(db);
  await queue.claim(1, { alone: true });
  await queue.beat(claim);
  await queue.dissolve();
  const nobodys = { id: '0', claimId: randomUUID(), outcome: RETRIED, duration: 1 };
  await settleJobs(db, names, [nobodys], { worker: 'test', notify: true });
  await queue.settle(claim, SUCCESSFUL);
  await queue.reap(claim);
}

describe(`what was planned while the tables were empty, now that there are ${MANY} jobs and ${CLAIMS} claims and nobody has analysed them`, () => {
  let database: TestDatabase;
  let pool: Pool;
  let claim: Claim;
  beforeAll(async () => {
    database = await createTestDatabase();
    for (const table of ['job', 'claim']) {
      await database.query(`alter table pgqueue.${table} set (autovacuum_enabled = false)`);
    }
    pool = new Pool({ connectionString: database.url, max: 1 });
    await workOff(ownDatabase(pool));
    await database.query(FILL);
    claim = await queueOn(ownDatabase(pool)).claim(BATCH);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const explained = (work: (db: Database) => Promise<unknown>) => explainPrepared(pool, work);

  it('is still the plan: nothing was planned again', async () => {
    const { rows } = await pool.query(`
      select name, generic_plans from pg_prepared_statements
      where statement like '%ids as materialized%' and (generic_plans > 1 or custom_plans > 0)`);
    expect(rows).toEqual([{ name: expect.any(String) as string, generic_plans: '2' }]);
  });

  it.each([
    ['a claim', 10, (db: Database) => queueOn(db).claim(10)],
    ['a claim of several entrypoints', 10, (db: Database) => queueOn(db).claim(10, { entrypoints: SEVERAL })],
    ['a claim behind a place', 10, (db: Database) => queueOn(db).claim(10, { behind: PLACE })],
    ['a claim of what was seen', BATCH, (db: Database) => queueOn(db).claim(BATCH, { seen: SOME })],
    ['a look at the head', BATCH, lookAtHead],
    ['a claim of what is to run alone', 1, (db: Database) => queueOn(db).claim(1, { alone: true })],
    ['a settle', BATCH, (db: Database) => queueOn(db).settle(claim, SUCCESSFUL)],
    ['a settle as retried', BATCH, (db: Database) => queueOn(db).settle(claim, RETRIED)],
    ['a beat', 1, (db: Database) => queueOn(db).beat(claim)],
    ['a reap', BATCH, (db: Database) => queueOn(db).reap(claim)],
    ['a promotion', 1, promote],
  ])('%s reads by index, and a few pages for each job', async (_, jobs, work) => {
    const { buffers, readWhole } = await explained(work);
    expect(readWhole).toEqual([]);
    expect(buffers).toBeLessThan(MOST_BUFFERS * jobs);
  });

  it('a settle that also removes ended claims reads by index', async () => {
    const settlements = claim.ids.map((id) => ({ id, claimId: claim.claimId, outcome: SUCCESSFUL, duration: 1 }));
    const context = { worker: 'test', notify: true, ended: [claim.claimId] };
    expect(await explained((db) => settleJobs(db, names, settlements, context))).toMatchObject({ readWhole: [] });
  });

  it('a dissolve and an outlook read all claims, and of the jobs only some', async () => {
    await makeStale(database, claim);
    const work: [number, (db: Database) => Promise<unknown>][] = [
      [BATCH, (db) => queueOn(db).dissolve()],
      [1, lookOut],
    ];
    for (const [jobs, each] of work) {
      const { buffers, readWhole } = await explained(each);
      expect(new Set(readWhole)).toEqual(new Set(['claim']));
      expect(buffers).toBeLessThan(2 * CLAIMS + MOST_BUFFERS * jobs);
    }
  });
});

describe.each([
  ['as vacuum leaves it', 'vacuum (analyze)'],
  ['as vacuum leaves it that can not give back its pages', 'vacuum (analyze, truncate false)'],
])(`what is planned for a queue that was analysed while it was empty, %s, and now holds ${MANY} jobs`, (_, vacuum) => {
  let database: TestDatabase;
  let pool: Pool;
  let claim: Claim;
  beforeAll(async () => {
    database = await createTestDatabase();
    const tables = ['job', 'claim', 'job_log'].map((table) => `pgqueue.${table}`);
    for (const table of tables) await database.query(`alter table ${table} set (autovacuum_enabled = false)`);
    await database.query(FILL);
    for (const table of tables) await database.query(`delete from ${table}`);
    await database.query(`${vacuum} ${tables.join(', ')}`);
    await database.query(FILL);
    pool = new Pool({ connectionString: database.url, max: 1 });
    await workOff(ownDatabase(pool));
    claim = await queueOn(ownDatabase(pool)).claim(BATCH);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it.each<[string, (db: Database) => Promise<unknown>]>([
    ['a claim', (db) => queueOn(db).claim(BATCH)],
    ['a claim of several entrypoints', (db) => queueOn(db).claim(BATCH, { entrypoints: SEVERAL })],
    ['a claim behind a place', (db) => queueOn(db).claim(BATCH, { behind: PLACE })],
    ['a claim of what was seen', (db) => queueOn(db).claim(BATCH, { seen: SOME })],
    ['a look at the head', lookAtHead],
    ...[SUCCESSFUL, RETRIED, FAILED, RELEASED].map((outcome): [string, (db: Database) => Promise<unknown>] => [
      `a settle as ${outcome.type}`,
      (db) => queueOn(db).settle(claim, outcome),
    ]),
    ['a beat', (db) => queueOn(db).beat(claim)],
    ['a reap', (db) => queueOn(db).reap(claim)],
  ])('%s looks at rows in the number of its jobs', async (_name, work) => {
    expect((await explainPrepared(pool, work)).rows).toBeLessThanOrEqual(MOST_ROWS * BATCH);
  });

  it('a dissolve looks at all claims, and at rows in the number of its jobs', async () => {
    await makeStale(database, claim);
    const { rows } = await explainPrepared(pool, (db) => queueOn(db).dissolve());
    expect(rows).toBeLessThanOrEqual(CLAIMS + MOST_ROWS * BATCH);
  });
});

describe('while statements are prepared, a migration that', () => {
  const ground = useWorkerGround();

  it.each([
    [
      'adds columns',
      `alter table pgqueue.job add column tag text, add column weight integer not null default 1, add column delays text, add column ids text`,
    ],
    [
      'replaces the index of claims',
      `drop index pgqueue.job_ready;
       create index job_ready_again on pgqueue.job (entrypoint, priority desc, id, run_at)
       where status = 'queued' and wait = 'ready'`,
    ],
    [
      'adds a column to each table that a worker writes',
      `
       alter table pgqueue.claim add column tag text;
       alter table pgqueue.job_log add column tag text;
       alter table pgqueue.entrypoint add column tag text`,
    ],
  ])('%s leaves the worker at work', async (_, migration) => {
    const worker = await ground.start({ work: () => undefined }, { heartbeatTimeout: 400 });
    await worker.event('listening');
    const runs = async () => {
      const ids = await ground.queue.add(...Array.from({ length: 50 }, () => 'work'), { delay: 1 });
      await eventually(async () => expect(await ground.database.query('select from pgqueue.job')).toEqual([]));
      return ids.length;
    };
    const before = await runs();
    await ground.database.query(migration);
    const after = await runs();
    expect(await ground.log()).toHaveLength(before + after);
    expect(worker.events.filter(({ type }) => type === 'error' || type === 'refused')).toEqual([]);
  });
});

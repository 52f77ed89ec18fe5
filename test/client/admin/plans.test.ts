import { clearJobs, removeJobs } from '../../../lib/sql/admin-remove.js';
import { cancelJobs } from '../../../lib/sql/admin-cancel.js';
import { readJob, readJobs } from '../../../lib/sql/admin-jobs.js';
import { requeueJobs } from '../../../lib/sql/admin-requeue.js';
import { createTestDatabase, explain, names, onPool, type TestDatabase } from '../../support/index.js';

const MANY = 200_000;
const FEW = 20;

const CROWD = `
  insert into pgqueue.job (entrypoint, status, wait, run_at)
  select entrypoint, status, wait, clock_timestamp() + run_in
  from (values
    (${FEW}, 'work', 'failed', 'ready', interval '0'),
    (${MANY / 2}, 'work', 'queued', 'later', interval '1 day'),
    (${MANY / 2}, 'work', 'queued', 'ready', interval '0')) as crowd(n, entrypoint, status, wait, run_in)
  cross join lateral generate_series(1, n)`;
const LOG = `
  insert into pgqueue.job_log (job_id, entrypoint, attempt, status)
  select n, 'work', 1, 'retried' from generate_series(1, ${MANY}) n`;
const ANALYZE = 'analyze pgqueue.job, pgqueue.job_log, pgqueue.claim';

describe.each([
  ['no statistics', [CROWD, LOG]],
  ['statistics of the empty tables', [ANALYZE, CROWD, LOG]],
  ['current statistics', [CROWD, LOG, ANALYZE]],
])(`beside ${MANY} queued jobs and with %s`, (_, steps) => {
  let database: TestDatabase;
  let ids: string[];
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query('alter table pgqueue.job set (autovacuum_enabled = false)');
    await database.query('alter table pgqueue.job_log set (autovacuum_enabled = false)');
    for (const step of steps) await database.query(step);
    await onPool(database).claim(10);
    ids = Array.from({ length: FEW }, (_each, index) => String(1 + index * 7));
  });
  afterAll(() => database.drop());

  const SKIP = { locking: 'skip', notify: true } as const;

  it.each([
    ['cancel', cancelJobs],
    ['remove', removeJobs],
    ['requeue', requeueJobs],
  ] as const)(`to %s ${FEW} jobs looks at them by their ids`, async (_name, act) => {
    const { nodes, buffers } = await explain(database, (db) => act(db, names, ids, SKIP));
    expect(nodes).not.toContain('Seq Scan');
    expect(buffers).toBeLessThan(50 * FEW);
  });

  it.each([
    [{ status: 'failed' }],
    [{ status: 'failed', entrypoint: 'none' }],
    [{ status: 'picked' }],
    [{ entrypoint: 'work', dedupeKey: 'a' }],
    [{ status: 'queued' }],
    [{}],
  ] as const)('a page of %j reads what it has', async (filter) => {
    const request = { status: undefined, entrypoint: undefined, dedupeKey: undefined, after: undefined, ...filter };
    const { buffers } = await explain(database, (db) => readJobs(db, names, { ...request, limit: FEW }));
    expect(buffers).toBeLessThan(50 * FEW);
  });

  it('a job is found with its attempts', async () => {
    const { buffers } = await explain(database, (db) => readJob(db, names, '1'));
    expect(buffers).toBeLessThan(50);
  });

  it.each(['queued', 'failed', 'any'] as const)(
    'a batch of those that are cleared as %s reads what it has',
    async (status) => {
      const request = { status, entrypoint: 'work', below: undefined, limit: FEW };
      const { buffers } = await explain(database, (db) => clearJobs(db, names, request, true));
      expect(buffers).toBeLessThan(50 * FEW);
    },
  );
});

import { awaitJobs } from '../../../lib/sql/completion.js';
import { createTestDatabase, explain, names, type TestDatabase } from '../../support/index.js';

const MANY = 200_000;
const WAITS = 1_000;
const MOST_BUFFERS_EACH = 40;

const CROWD = `
  insert into pgqueue.job (entrypoint, status) select 'work', 'queued' from generate_series(1, ${MANY});
  insert into pgqueue.job_log (job_id, entrypoint, attempt, status)
  select n, 'work', 1, case when n % 2 = 0 then 'retried' else 'successful' end from generate_series(1, ${2 * MANY}) as n`;

describe.each([
  ['no statistics', [CROWD]],
  ['statistics of empty tables', ['analyze pgqueue.job; analyze pgqueue.job_log', CROWD]],
  ['current statistics', [CROWD, 'analyze pgqueue.job; analyze pgqueue.job_log']],
])(`with ${MANY} jobs, a log of twice as many, and %s,`, (_, steps) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    for (const table of ['job', 'job_log']) {
      await database.query(`alter table pgqueue.${table} set (autovacuum_enabled = false)`);
    }
    for (const step of steps) await database.query(step);
  });
  afterAll(() => database.drop());

  it.each([true, false])(`a look at ${WAITS} jobs, notify: %p, reads no table`, async (notify) => {
    const live = Array.from({ length: WAITS / 2 }, (_each, index) => String(index * 100 + 1));
    const ended = live.map((id) => String(Number(id) + MANY));
    const { buffers, nodes } = await explain(database, (db) => awaitJobs(db, names, [...live, ...ended], { notify }));
    expect(nodes).not.toContain('Seq Scan');
    expect(buffers / WAITS).toBeLessThan(MOST_BUFFERS_EACH);
  });
});

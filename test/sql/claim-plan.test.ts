import { promoteJobs, readOutlook } from '../../lib/sql/promote.js';
import { createTestDatabase, explain, names, onPool, queueOn, type TestDatabase } from '../support/index.js';

const MANY = 200_000;
const MOST_BUFFERS = 50;

// Urgent, and of names on both sides of 'work', so that no order of an index is kind to the claim by chance.
const CROWD = `
  insert into pgqueue.job (entrypoint, status, wait, priority, run_at)
  select entrypoint, status, wait, 100, clock_timestamp() + run_in
  from (values
    (${MANY}, 'work', 'queued', 'later', interval '1 day'),
    (${MANY / 10}, 'work', 'failed', 'ready', interval '0'),
    (${MANY / 20}, 'another', 'queued', 'ready', interval '0'),
    (${MANY / 20}, 'zoo', 'queued', 'ready', interval '0')) as crowd(n, entrypoint, status, wait, run_in)
  cross join lateral generate_series(1, n)`;

describe.each([
  ['no statistics', []],
  ['statistics of the empty table', ['analyze pgqueue.job', CROWD]],
  ['current statistics', [CROWD, 'analyze pgqueue.job']],
])(`beside ${MANY} later jobs, held jobs, jobs of other entrypoints, and with %s,`, (_, [...steps]) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    // Else it decides by chance which statistics there are.
    await database.query('alter table pgqueue.job set (autovacuum_enabled = false)');
    for (const step of steps.length === 0 ? [CROWD] : steps) await database.query(step);
    await onPool(database).add({ priority: -5 }, { priority: -6 }, { delay: 3_600_000 });
  });
  afterAll(() => database.drop());

  it(`a claim reads less than ${MOST_BUFFERS} pages`, async () => {
    const { buffers, nodes } = await explain(database, (db) => queueOn(db).claim(1));
    expect(buffers).toBeLessThan(MOST_BUFFERS);
    expect(nodes).not.toContain('Seq Scan');
  });

  it(`a claim that finds nothing reads less than ${MOST_BUFFERS} pages`, async () => {
    const { buffers } = await explain(database, (db) => queueOn(db).claim(10, { entrypoints: ['none', 'nothing'] }));
    expect(buffers).toBeLessThan(MOST_BUFFERS);
  });

  it(`to learn when the next job is due reads less than ${MOST_BUFFERS} pages`, async () => {
    const { buffers } = await explain(database, (db) => readOutlook(db, names, ['work', 'none']));
    expect(buffers).toBeLessThan(MOST_BUFFERS);
  });

  it(`to let in nothing, or one job whose time has come, reads less than ${MOST_BUFFERS} pages`, async () => {
    const idle = await explain(database, (db) => promoteJobs(db, names, { patience: 0, notify: false }));
    expect(idle.buffers).toBeLessThan(MOST_BUFFERS);
    await database.query(
      `update pgqueue.job set run_at = now() where run_at < now() + interval '2 hours' and wait = 'later'`,
    );
    const { buffers } = await explain(database, (db) => promoteJobs(db, names, { patience: 0, notify: false }));
    expect(buffers).toBeLessThan(MOST_BUFFERS);
  });

  it('a claim of 10 among rivals looks at each of its jobs by its id', async () => {
    const { buffers, nodes } = await explain(database, (db) =>
      queueOn(db).claim(10, { entrypoints: ['another', 'zoo'] }),
    );
    expect(buffers).toBeLessThan(8 * MOST_BUFFERS);
    expect(nodes).not.toContain('Seq Scan');
  });
});

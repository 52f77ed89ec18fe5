import { randomUUID } from 'node:crypto';
import type { Outcome } from '../../lib/domain/outcome.js';
import { poolDatabase } from '../../lib/sql/database.js';
import { readHead } from '../../lib/sql/head.js';
import { promoteJobs, readOutlook } from '../../lib/sql/promote.js';
import { settleJobs } from '../../lib/sql/settle.js';
import {
  type Claim,
  createTestDatabase,
  explain,
  FAILED,
  makeStale,
  names,
  onPool,
  queueOn,
  RELEASED,
  SUCCESSFUL,
  type TestDatabase,
} from '../support/index.js';

const MANY = 200_000;
const MOST_BUFFERS = 50;
const HOUR = 3_600_000;

const RETRIED: Outcome = { type: 'retried', delay: 0, error: { message: 'Error: no', stack: null } };
const OUTCOMES = [SUCCESSFUL, RETRIED, FAILED, RELEASED];
const settlementOf = ({ claimId }: Claim, id: string, outcome: Outcome) => ({ id, claimId, outcome, duration: 1 });

// Urgent, and of names on both sides of 'work', so that no order of an index is kind to the claim by chance.
const CROWD = `
  insert into pgqueue.job (entrypoint, status, wait, priority, run_at)
  select entrypoint, status, wait, 100, clock_timestamp() + run_in
  from (values
    (${MANY}, 'work', 'queued', 'later', interval '1 day'),
    (${MANY / 10}, 'work', 'failed', 'ready', interval '0'),
    (${MANY / 20}, 'another', 'queued', 'alone', interval '0'),
    (${MANY / 20}, 'zoo', 'queued', 'alone', interval '0'),
    (${MANY / 20}, 'another', 'queued', 'ready', interval '0'),
    (${MANY / 20}, 'zoo', 'queued', 'ready', interval '0')) as crowd(n, entrypoint, status, wait, run_in)
  cross join lateral generate_series(1, n)`;

describe.each([
  ['no statistics', []],
  ['statistics of the empty table', ['analyze pgqueue.job', CROWD]],
  ['current statistics', [CROWD, 'analyze pgqueue.job']],
])(
  `beside ${MANY} later jobs, held jobs, jobs that are to run alone, jobs of other entrypoints, and with %s,`,
  (_, [...steps]) => {
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
      for (const entrypoints of [['work'], ['work', 'none']]) {
        const { buffers, nodes } = await explain(database, (db) => queueOn(db).claim(1, { entrypoints }));
        expect(buffers).toBeLessThan(MOST_BUFFERS);
        expect(nodes).not.toContain('Seq Scan');
      }
    });

    it(`a claim behind a place reads less than ${MOST_BUFFERS} pages, whether it finds something or not`, async () => {
      for (const [entrypoint, priority] of [
        ['work', -5],
        ['another', 100],
        ['none', 0],
      ] as const) {
        const { buffers, readWhole } = await explain(database, (db) =>
          queueOn(db).claim(1, {
            entrypoints: ['work', 'another', 'none'],
            behind: { entrypoint, priority, after: '1' },
          }),
        );
        expect(buffers).toBeLessThan(MOST_BUFFERS);
        expect(readWhole).not.toContain('job');
      }
    });

    it(`a look at the head, and a claim of what was seen there, read less than ${MOST_BUFFERS} pages`, async () => {
      const entrypoints = ['work', 'none'];
      const { jobs } = await readHead(
        poolDatabase(() => database.pool),
        names,
        entrypoints,
        10,
      );
      expect(jobs.map(({ priority }) => priority)).toEqual([-5, -6]);
      const seen = jobs.map(({ id }) => id);
      for (const { buffers, readWhole } of [
        await explain(database, (db) => readHead(db, names, entrypoints, 10)),
        await explain(database, (db) => queueOn(db).claim(2, { entrypoints, seen })),
      ]) {
        expect(buffers).toBeLessThan(MOST_BUFFERS);
        expect(readWhole).not.toContain('job');
      }
    });

    it(`a claim that finds nothing reads less than ${MOST_BUFFERS} pages`, async () => {
      for (const entrypoints of [['none'], ['none', 'nothing']]) {
        const { buffers } = await explain(database, (db) => queueOn(db).claim(10, { entrypoints }));
        expect(buffers).toBeLessThan(MOST_BUFFERS);
      }
    });

    it(`a claim of a job that is to run alone, or of none, reads less than ${2 * MOST_BUFFERS} pages`, async () => {
      for (const entrypoints of [['another', 'zoo'], ['none']]) {
        const { buffers, nodes } = await explain(database, (db) => queueOn(db).claim(1, { entrypoints, alone: true }));
        expect(buffers).toBeLessThan(2 * MOST_BUFFERS); // of two names
        expect(nodes).not.toContain('Seq Scan');
      }
    });

    it('to settle 1,000 jobs looks at each by its id', async () => {
      const ids = Array.from({ length: 1_000 }, (_, index) => (index + 1).toString());
      const { nodes } = await explain(database, (db) =>
        queueOn(db).settle({ claimId: randomUUID(), ids, jobs: [], crowded: false, took: 0 }, SUCCESSFUL),
      );
      expect(nodes).not.toContain('Seq Scan');
    });

    it('to settle outcomes of all kinds, and remove claims that have ended, looks at each by its id', async () => {
      const claim = await onPool(database).claim(100, { entrypoints: ['zoo'] });
      const settlements = claim.ids.map((id, index) => settlementOf(claim, id, OUTCOMES[index % OUTCOMES.length]!));
      const { buffers, readWhole } = await explain(database, (db) =>
        settleJobs(db, names, settlements, { worker: 'test', notify: true, ended: [claim.claimId, randomUUID()] }),
      );
      expect(readWhole).not.toContain('job');
      expect(buffers).toBeLessThan(100 * MOST_BUFFERS);
      await onPool(database).settle(claim, RELEASED);
      await onPool(database).reap(claim);
    });

    it('to dissolve one claim among 1,000 looks at its jobs by their ids', async () => {
      await database.query(`
      with living as (
        insert into pgqueue.claim select gen_random_uuid(), clock_timestamp(), 'living', array[n] from generate_series(1, 1000) n)
      insert into pgqueue.job_log (job_id, entrypoint, attempt, status)
      select n, 'work', 1, 'lost' from generate_series(1, 20000) n`);
      await onPool(database).add('dead', 'dead');
      await makeStale(database, await onPool(database).claim(10, { entrypoints: ['dead'] }));
      const { buffers } = await explain(database, (db) => queueOn(db).dissolve());
      expect(buffers).toBeLessThan(4 * MOST_BUFFERS);
      await database.query('truncate pgqueue.claim, pgqueue.job_log');
    });

    it('to remove a claim of which no job is left looks at its jobs by their ids', async () => {
      const queue = onPool(database);
      await queue.add('done');
      const claim = await queue.claim(1, { entrypoints: ['done'] });
      await queue.settle(claim, SUCCESSFUL);
      const { buffers, nodes } = await explain(database, (db) => queueOn(db).reap(claim));
      expect(buffers).toBeLessThan(MOST_BUFFERS);
      expect(nodes).not.toContain('Hash');
      await queue.reap(claim);
    });

    it(`to learn when the next job is due reads less than ${MOST_BUFFERS} pages`, async () => {
      const { buffers } = await explain(database, (db) =>
        readOutlook(db, names, ['work', 'none'], { suspicion: HOUR, heartbeatTimeout: 30_000, ready: true }),
      );
      expect(buffers).toBeLessThan(MOST_BUFFERS);
    });

    it(`to let in nothing, or one job whose time has come, reads less than ${MOST_BUFFERS} pages`, async () => {
      const idle = await explain(database, (db) => promoteJobs(db, names, { suspicion: HOUR, notify: false }));
      expect(idle.buffers).toBeLessThan(MOST_BUFFERS);
      await database.query(
        `update pgqueue.job set run_at = now() where run_at < now() + interval '2 hours' and wait = 'later'`,
      );
      const { buffers } = await explain(database, (db) => promoteJobs(db, names, { suspicion: HOUR, notify: false }));
      expect(buffers).toBeLessThan(MOST_BUFFERS);
    });

    it('a claim of 10 among rivals looks at each of its jobs by its id', async () => {
      const { buffers, nodes } = await explain(database, (db) =>
        queueOn(db).claim(10, { entrypoints: ['another', 'zoo'] }),
      );
      expect(buffers).toBeLessThan(10 * MOST_BUFFERS);
      expect(nodes).not.toContain('Seq Scan');
    });
  },
);

import { poolDatabase } from '../../lib/sql/database.js';
import { readHead } from '../../lib/sql/head.js';
import {
  deferred,
  eventually,
  names,
  openSession,
  queueOn,
  type Session,
  type TestWorkerOptions,
  useWorkerGround,
} from '../support/index.js';

const DEAD = 500_000;
const DEEP = 20_000;
const POLL_NEVER = 600_000;

describe('where claims from the head are slow', () => {
  const ground = useWorkerGround();
  describe(`as a transaction elsewhere keeps ${DEAD} jobs that have ended from being removed`, () => {
    let report: Session;
    let late: Session;
    beforeEach(async () => {
      await ground.database.query('alter table pgqueue.job set (autovacuum_enabled = false)');
      report = await openSession(ground.database);
      await report.db.query('begin isolation level repeatable read');
      await report.db.query('select count(*) from pgqueue.job');
      late = await openSession(ground.database);
      await late.begin();
      await queueOn(late.db).add('work', 'late');
      await ground.database.query(
        `insert into pgqueue.job (entrypoint) select 'work' from generate_series(1, ${DEAD})`,
      );
      await ground.database.query(`delete from pgqueue.job`);
    });
    afterEach(async () => {
      for (const session of [late, report]) {
        await session.rollback();
        await session.end();
      }
    });

    const look = () =>
      readHead(
        poolDatabase(() => ground.database.pool),
        names,
        ['work'],
        1,
      );
    const isEmpty = async () => expect(await ground.database.query('select from pgqueue.job')).toEqual([]);

    /** Starts a worker that has claimed from the head once, and awaits jobs of it. */
    async function startWorker(options: TestWorkerOptions = {}) {
      const ran: string[] = [];
      const waiting = new Map<string, () => void>();
      const run = ({ entrypoint }: { entrypoint: string }) => {
        ran.push(entrypoint);
        waiting.get(entrypoint)?.();
      };
      const handlers = { work: run, late: run, urgent: run, lazy: run };
      const worker = await ground.start(handlers, { concurrency: 10, pollInterval: POLL_NEVER, ...options });
      await worker.event('listening');
      /** Milliseconds until one of that entrypoint has begun. */
      const began = async (entrypoint: string, add: () => Promise<unknown>) => {
        const { promise, resolve } = deferred();
        waiting.set(entrypoint, resolve);
        const startedAt = performance.now();
        await add();
        await promise;
        return performance.now() - startedAt;
      };
      await began('work', () => ground.queue.add('work'));
      return { worker, ran, began };
    }

    it('a worker looks past them now and then, and not for each job', async () => {
      const { began } = await startWorker();
      const JOBS = 40;
      let duration = 0;
      for (let count = 0; count < JOBS; count++) duration += await began('work', () => ground.queue.add('work'));
      expect(duration).toBeLessThan((JOBS / 4) * (await look()).took);
      await eventually(isEmpty);
    });

    it.each<[string, string, () => Promise<unknown>]>([
      ['was committed late', 'late', () => late.commit()],
      ['is more urgent', 'urgent', () => ground.queue.add({ entrypoint: 'urgent', priority: 5 })],
      ['is less urgent', 'lazy', () => ground.queue.add({ entrypoint: 'lazy', priority: -5 })],
      ['was promoted', 'lazy', () => ground.queue.add({ entrypoint: 'lazy', delay: 100 })],
    ])('a job of another entrypoint that %s runs soon', async (_, entrypoint, add) => {
      const { began } = await startWorker();
      const { took } = await look();
      expect(await began(entrypoint, add)).toBeLessThan(500 + 10 * took);
    });

    it('each of a crowd of more urgent jobs runs once, and so does what lies behind them', async () => {
      const { ran } = await startWorker();
      await ground.database.query(`
      insert into pgqueue.job (entrypoint, priority)
      select case when n % 2 = 0 then 'work' else 'urgent' end, n % 2 from generate_series(1, ${2 * DEEP}) n`);
      await ground.queue.add('lazy');
      await late.commit();
      await eventually(isEmpty, { timeout: 25_000 });
      expect(ran).toHaveLength(2 * DEEP + 4);
      expect(ran.filter((entrypoint) => entrypoint === 'urgent')).toHaveLength(DEEP);
    });
  });
});

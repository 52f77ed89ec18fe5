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

// A look at so many takes 100 ms.
const DEAD = 1_000_000;
const DEEP = 20_000;
const LATE = 80_000;
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

    const look = async () => {
      const { took } = await readHead(
        poolDatabase(() => ground.database.pool),
        names,
        ['work'],
        1,
      );
      return took!;
    };
    const isEmpty = async () => expect(await ground.database.query('select from pgqueue.job limit 1')).toEqual([]);

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
      if (options.notify !== false) await worker.event('listening');
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
      expect(duration).toBeLessThan((JOBS / 4) * (await look()));
      await eventually(isEmpty);
    });

    it.each<[string, TestWorkerOptions]>([
      ['with notifications', {}],
      ['without notifications', { notify: false, pollInterval: 200 }],
    ])('what lies before the place runs soon, %s', async (_, options) => {
      const { began } = await startWorker(options);
      const took = await look();
      const soon = 700 + 10 * took;
      expect(await began('late', () => late.commit())).toBeLessThan(soon);
      expect(await began('urgent', () => ground.queue.add({ entrypoint: 'urgent', priority: 5 }))).toBeLessThan(soon);
      expect(await began('lazy', () => ground.queue.add({ entrypoint: 'lazy', priority: -5 }))).toBeLessThan(soon);
      expect(await began('lazy', () => ground.queue.add({ entrypoint: 'lazy', delay: 100 }))).toBeLessThan(soon);
    });

    it('many that were committed late, behind what is dead, do not wait for a look each thousand', async () => {
      const session = await openSession(ground.database);
      await session.begin();
      await session.db.query(`insert into pgqueue.job (entrypoint) select 'work' from generate_series(1, ${LATE})`);
      const { ran } = await startWorker();
      const took = await look();
      const startedAt = performance.now();
      await session.commit();
      await ground.queue.add('lazy');
      await eventually(isEmpty, { timeout: 25_000 });
      expect(performance.now() - startedAt).toBeLessThan(2_500 + (LATE / 2_500) * took); // and not 4 for each thousand
      expect(ran).toHaveLength(LATE + 2);
      await session.end();
    });

    it('each of a crowd of more urgent jobs runs once, and so does what lies behind them, beside rivals', async () => {
      const { ran } = await startWorker();
      const rivals: string[] = [];
      const run = ({ entrypoint }: { entrypoint: string }) => void rivals.push(entrypoint);
      await ground.start({ work: run, urgent: run, lazy: run, late: run }, { pollInterval: POLL_NEVER });
      await ground.database.query(`
      insert into pgqueue.job (entrypoint, priority)
      select case when n % 2 = 0 then 'work' else 'urgent' end, n % 2 from generate_series(1, ${2 * DEEP}) n`);
      await ground.queue.add('lazy');
      await late.commit();
      await eventually(isEmpty, { timeout: 25_000 });
      const all = [...ran, ...rivals];
      expect(all).toHaveLength(2 * DEEP + 4);
      expect(all.filter((entrypoint) => entrypoint === 'urgent')).toHaveLength(DEEP);
    });
  });

  it('but only once, for another reason, what comes next waits for nothing', async () => {
    const SLOW = 1_000;
    const ran = { work: deferred(), other: deferred() };
    const handlers = { work: () => ran.work.resolve(), other: () => ran.other.resolve() };
    await ground.database.query(`
      create function sleep() returns trigger language plpgsql as $$ begin perform pg_sleep(${SLOW / 1_000}); return new; end $$;
      create trigger sleep before update on pgqueue.job for each row when (new.id = 1) execute function sleep()`);
    const worker = await ground.start(handlers, { pollInterval: POLL_NEVER });
    await worker.event('listening');
    expect(await ground.queue.add('work')).toEqual(['1']);
    await ran.work.promise;
    const startedAt = performance.now();
    await ground.queue.add('other');
    await ran.other.promise;
    expect(performance.now() - startedAt).toBeLessThan(SLOW);
  });
});

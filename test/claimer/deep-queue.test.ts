import type { Job } from '../../lib/domain/job.js';
import { BATCH } from '../../lib/claimer/prefetch.js';
import { pauseEntrypoint, resumeEntrypoint } from '../../lib/sql/admin-pause.js';
import { poolDatabase } from '../../lib/sql/database.js';
import {
  deferred,
  eventually,
  names,
  openSession,
  queueOn,
  type TestWorkerOptions,
  useWorkerGround,
} from '../support/index.js';

// So many that the head of the queue is looked at several times meanwhile, though each look may cost a twentieth of the time.
const DEEP = 60_000;
const BEGUN = 1_000;
const HALF = BEGUN + (DEEP - BEGUN) / 2;
// What may be claimed ahead, and a batch that is on its way.
const CLAIMED = 2_000;
const POLL_NEVER = 60_000;
const LONG = { timeout: 25_000 };

describe('while a deep queue is drained', () => {
  const ground = useWorkerGround();
  const db = () => poolDatabase(() => ground.database.pool);
  const fill = () =>
    ground.database.query(`insert into pgqueue.job (entrypoint) select 'work' from generate_series(1, ${DEEP})`);
  const states = () =>
    ground.database.query<{ status: string; attempt: number }>(
      'select status, attempt, count(*)::int from pgqueue.job group by 1, 2',
    );
  const emptied = () => eventually(async () => expect(await states()).toEqual([]), LONG);

  /** Starts a worker that does something in the middle of it, and counts what runs. */
  async function startDraining(midway: (job: Job) => unknown, options: TestWorkerOptions = {}) {
    const order: string[] = [];
    const run = (job: Job) => {
      order.push(`${job.entrypoint} ${job.id}`);
      return order.length === BEGUN ? midway(job) : undefined;
    };
    const handlers = { work: run, urgent: run, late: run };
    const worker = await ground.start(handlers, { concurrency: 10, pollInterval: POLL_NEVER, ...options });
    return { order, worker };
  }

  /** Each job has run once, and there were no others. */
  async function expectOnce(order: readonly string[], count: number): Promise<void> {
    await emptied();
    expect(order).toHaveLength(count);
    expect(new Set(order).size).toBe(count);
    await eventually(async () => expect(await ground.database.query('select from pgqueue.claim')).toEqual([]));
  }

  describe.each([
    ['with notifications', true],
    ['without notifications', false],
  ])('%s,', (_, notify) => {
    it('a more urgent job runs before most of the rest', async () => {
      await fill();
      const { order } = await startDraining(() => ground.queue.add({ entrypoint: 'urgent', priority: 1 }), { notify });
      await expectOnce(order, DEEP + 1);
      expect(order.findIndex((each) => each.startsWith('urgent'))).toBeLessThan(HALF);
    });

    it('jobs that were committed late run before most of the rest, of whatever entrypoint', async () => {
      const session = await openSession(ground.database);
      await session.begin();
      await queueOn(session.db).add('late', 'work');
      await fill();
      const { order } = await startDraining(() => session.commit(), { notify });
      await expectOnce(order, DEEP + 2);
      for (const late of ['late 1', 'work 2']) expect(order.indexOf(late)).toBeLessThan(HALF);
      await session.end();
    });

    it('a job that is to be tried again at once is, before most of the rest', async () => {
      await fill();
      const fail = () => Promise.reject(new Error('no'));
      const { order } = await startDraining(fail, { notify, defaults: { retry: { delay: 0 } } });
      await emptied();
      expect(order).toHaveLength(DEEP + 1);
      const failed = order[BEGUN - 1]!;
      expect(order.lastIndexOf(failed)).toBeGreaterThan(BEGUN);
      expect(order.lastIndexOf(failed)).toBeLessThan(HALF);
    });
  });

  it('rivals leave each job to one of them', async () => {
    await fill();
    const fleet = await Promise.all(
      [1, 2, 3].map((each) => startDraining(() => undefined, { label: `worker ${each}` })),
    );
    await emptied();
    await expectOnce(
      fleet.flatMap(({ order }) => order),
      DEEP,
    );
    expect(fleet.flatMap(({ worker }) => worker.events.filter(({ type }) => type === 'refused'))).toEqual([]);
  });

  it('a pause of its entrypoint ends that, and nothing is lost until it goes on', async () => {
    await fill();
    const paused = deferred();
    const { order } = await startDraining(async () => {
      await pauseEntrypoint(db(), names, 'work');
      paused.resolve();
    });
    await paused.promise;
    const left = await eventually(async () => expectOnly('queued', await states()), LONG);
    expect(left).toBe(DEEP - order.length);
    expect(order.length).toBeLessThan(BEGUN + CLAIMED);
    await resumeEntrypoint(db(), names, 'work', true);
    await expectOnce(order, DEEP);
  });

  it('a stop ends that, gives back what has not begun as it was, and leaves the rest to others', async () => {
    await fill();
    const reached = deferred();
    const { order, worker } = await startDraining(() => reached.resolve());
    await reached.promise;
    await worker.stop();
    expect(expectOnly('queued', await states())).toBe(DEEP - order.length);
    const other = await startDraining(() => undefined);
    await emptied();
    await expectOnce([...order, ...other.order], DEEP);
  });

  it('claims are of 1,000 jobs at the most, and most of them are', async () => {
    await fill();
    const { worker } = await startDraining(() => undefined);
    await emptied();
    const sizes = worker.events.flatMap((event) => (event.type === 'claimed' ? [event.jobs.length] : []));
    expect(Math.max(...sizes)).toBe(BATCH);
    expect(sizes.filter((size) => size === BATCH).length).toBeGreaterThan(sizes.length / 2);
  });
});

/** Resolves with the number of jobs, all of which are in that state and have no attempt. */
function expectOnly(status: string, states: readonly { status: string; attempt: number }[]): number {
  expect(states).toEqual([{ status, attempt: 0, count: expect.any(Number) as number }]);
  return (states as unknown as [{ count: number }])[0].count;
}

import { Maintainer } from '../../lib/claimer/maintainer.js';
import type { WorkerContext } from '../../lib/claimer/worker-context.js';
import type { WorkerEvent } from '../../lib/claimer/worker-event.js';
import { type RetentionOptions, resolveOptions } from '../../lib/options.js';
import { type Database, poolDatabase } from '../../lib/sql/database.js';
import { startApp } from '../support/test-app.js';
import { deferred, eventually, names, SUCCESSFUL, useWorkerGround } from '../support/index.js';
import { PgQueueWorker } from 'nestjs-pgqueue';

const DAY = 24 * 60;
const OFTEN = 20;

describe('maintenance', () => {
  const ground = useWorkerGround();
  const db = () => poolDatabase(() => ground.database.pool);
  const running = new Set<Maintainer>();
  afterEach(async () => {
    await Promise.all([...running].map((maintainer) => maintainer.stop()));
    running.clear();
  });

  function maintainerOn(database: Database, retention: RetentionOptions = {}, events: WorkerEvent[] = []) {
    const options = { retention: resolveOptions({ retention }).retention };
    const observe = (event: WorkerEvent) => void events.push(event);
    const maintainer = new Maintainer(
      { db: database, names, options, observe, team: { size: 1 } } as unknown as WorkerContext,
      OFTEN,
    );
    running.add(maintainer);
    return maintainer;
  }

  const write = (minutes: number, count = 1, status = 'successful') =>
    ground.database.query(
      `insert into pgqueue.job_log (job_id, entrypoint, attempt, status, ended_at)
       select n, 'work', 1, $3, clock_timestamp() - $1 * interval '1 minute' from generate_series(1, $2) n`,
      [minutes, count, status],
    );
  const count = async (table: string) =>
    Number((await ground.database.query(`select count(*) from pgqueue.${table}`))[0]!['count']);
  const settleOne = async () => {
    await ground.queue.add('work');
    await ground.queue.settle(await ground.queue.claim(1), SUCCESSFUL);
  };

  it('keeps successes for 7 days and all else for 30, unless it is told otherwise', async () => {
    for (const status of ['successful', 'failed', 'lost']) {
      for (const days of [6, 8, 29, 31]) await write(days * DAY, 1, status);
    }
    await maintainerOn(db()).maintain();
    const kept = `
      select status, round(extract(epoch from now() - ended_at) / 86400)::int as days from pgqueue.job_log order by 1, 2`;
    expect(await ground.database.query(kept)).toEqual([
      { status: 'failed', days: 6 },
      { status: 'failed', days: 8 },
      { status: 'failed', days: 29 },
      { status: 'lost', days: 6 },
      { status: 'lost', days: 8 },
      { status: 'lost', days: 29 },
      { status: 'successful', days: 6 },
    ]);
  });

  it('leaves everything for a minute', async () => {
    for (const status of ['successful', 'failed', 'lost']) await write(0.9, 1, status);
    const maintainer = maintainerOn(db(), { successful: 0, failed: 0 });
    await maintainer.maintain();
    expect(await count('job_log')).toBe(3);
    const age = (time: string) =>
      ground.database.query(`update pgqueue.job_log set ended_at = now() - $1::interval`, [time]);
    await age('61 seconds');
    await maintainer.maintain();
    expect(await count('job_log')).toBe(0);
  });

  it('folds statistics, and ends them when they are older than 30 days and than the log', async () => {
    await settleOne();
    const maintainer = maintainerOn(db(), { failed: 0 });
    const patient = maintainerOn(db(), { failed: 40 * DAY * 60_000 });
    await maintainer.maintain();
    expect([await count('statistic'), await count('statistic_delta')]).toEqual([1, 0]);
    await ground.database.query(`update pgqueue.statistic set minute = minute - interval '31 days'`);
    await patient.maintain();
    expect(await count('statistic')).toBe(1);
    await maintainer.maintain();
    expect(await count('statistic')).toBe(0);
  });

  it('deletes 100,000 rows in one round, each batch in a transaction of its own', async () => {
    await write(8 * DAY, 100_000);
    await write(1, 1_000);
    const [before] = await ground.database.query<{ id: string }>('select pg_current_xact_id()::text as id');
    await maintainerOn(db()).maintain();
    const [after] = await ground.database.query<{ id: string }>('select pg_current_xact_id()::text as id');
    expect(Number(after!.id) - Number(before!.id)).toBeGreaterThanOrEqual(20);
    expect(await count('job_log')).toBe(1_000);
  });

  it('stops between two batches', async () => {
    await write(8 * DAY, 20_000);
    const begun = deferred();
    const goOn = deferred();
    const held: Database = {
      ...db(),
      query: async (text, values) => {
        if (text.includes('expired') && text.includes('job_log')) {
          begun.resolve();
          await goOn.promise;
        }
        return db().query(text, values);
      },
    };
    const maintainer = maintainerOn(held);
    maintainer.start();
    await begun.promise;
    const stopped = maintainer.stop();
    goOn.resolve();
    await stopped;
    expect(await count('job_log')).toBe(15_000);
  });

  it('tells what fails, does the rest, and tries again', async () => {
    await settleOne();
    await write(8 * DAY);
    await ground.database.query('alter table pgqueue.statistic rename to elsewhere');
    const events: WorkerEvent[] = [];
    const maintainer = maintainerOn(db(), {}, events);
    maintainer.start();
    await eventually(async () => expect(await count('job_log')).toBe(1));
    expect(events[0]).toMatchObject({ type: 'error', task: 'maintain', transient: false });
    await ground.database.query('alter table pgqueue.elsewhere rename to statistic');
    await eventually(async () => expect(await count('statistic')).toBe(1));
  });

  it('bounds statistics that nobody reads, by minutes and by the entrypoints that have run', async () => {
    await ground.database.query(`
      insert into pgqueue.job (entrypoint) select 'unknown' || n from generate_series(1, 10000) n;
      insert into pgqueue.statistic_delta
      select date_bin('1 minute', now(), 'epoch') - n % 10 * interval '1 minute', 'work' || n % 3, 1, 0, 0, 0, 0, 0, array[n / 30 % 50]
      from generate_series(1, 100000) n`);
    await settleOne();
    await maintainerOn(db()).maintain();
    expect([await count('statistic'), await count('statistic_delta')]).toEqual([31, 0]);
    const sums = `
      select sum(successful)::int as jobs, max(cardinality(buckets)) as buckets,
        sum((select sum(count) from unnest(bucket_counts) as count))::int as durations from pgqueue.statistic`;
    expect(await ground.database.query(sums)).toEqual([{ jobs: 100_001, buckets: 50, durations: 100_001 }]);
  });

  it('is done by several workers at once, each row by one of them', async () => {
    for (let each = 0; each < 5; each++) await settleOne();
    await write(8 * DAY, 30_000);
    const events: WorkerEvent[] = [];
    for (let each = 0; each < 4; each++) maintainerOn(db(), {}, events).start();
    await eventually(async () => expect(await count('job_log')).toBe(5));
    await eventually(async () => expect(await count('statistic_delta')).toBe(0));
    const [sum] = await ground.database.query('select sum(successful)::int from pgqueue.statistic');
    expect(sum).toEqual({ sum: 5 });
    expect(events).toEqual([]);
  });

  it('is done at the end of a drain', async () => {
    await write(8 * DAY, 6_000);
    const app = await startApp(ground.database.url, {}, { worker: { autoStart: false } });
    await app.app.get(PgQueueWorker).drain();
    expect(await count('job_log')).toBe(0);
    await app.close();
  });

  it('writes no log of successes with retention: { successful: 0 }', async () => {
    const worker = await ground.start(undefined, { retention: { successful: 0 } });
    await ground.queue.add('work');
    await worker.event('settled');
    expect(await count('job_log')).toBe(0);
    expect(await count('statistic_delta')).toBe(1);
  });

  it('is stopped with its worker, whose start and stop it does not slow', async () => {
    const worker = await ground.start();
    await worker.stop();
    expect(worker.events.filter(({ type }) => type === 'error')).toEqual([]);
  });
});

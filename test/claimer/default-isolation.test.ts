import { Pool } from 'pg';
import type { Job } from '../../lib/domain/job.js';
import { eventually, makeStale, onPool, useWorkerGround } from '../support/index.js';

const JOBS = 120;
const RETRY = { delay: 1, jitter: 0 };

describe.each(['repeatable read', 'serializable'])('where default_transaction_isolation is %s', (level) => {
  const ground = useWorkerGround();
  beforeEach(async () => {
    const [row] = await ground.database.query<{ name: string }>('select current_database() as name');
    await ground.database.query(`alter database ${row?.name} set default_transaction_isolation = '${level}'`);
  });

  it('the test is one: connections have it', async () => {
    const pool = new Pool({ connectionString: ground.database.url, application_name: 'test' });
    expect((await pool.query('show transaction_isolation')).rows).toEqual([{ transaction_isolation: level }]);
    await pool.end();
  });

  it('rivals claim, fail, retry and settle without an error, each attempt once', async () => {
    const work = ({ attempt }: Job) => (attempt === 1 ? Promise.reject(new Error('no')) : undefined);
    const workers = await Promise.all(
      [1, 2, 3].map((each) =>
        ground.start(
          { work },
          { concurrency: 4, label: `worker ${each}`, pollInterval: 200, defaults: { retry: RETRY } },
        ),
      ),
    );
    await ground.queue.add(...Array.from({ length: JOBS }, (_, index) => ({ delay: index % 2 })));
    await eventually(async () => expect(await ground.log()).toHaveLength(2 * JOBS), { timeout: 20_000 });
    const attempts = await ground.database.query<{ count: string }>(
      'select count(*) from (select distinct job_id, attempt, status from pgqueue.job_log) as attempts',
    );
    expect(attempts).toEqual([{ count: String(2 * JOBS) }]);
    expect(
      workers.flatMap(({ events }) => events.filter(({ type }) => type === 'error' || type === 'refused')),
    ).toEqual([]);
    await eventually(async () => expect(await ground.database.query('select from pgqueue.claim')).toEqual([]));
  });

  it('what a dead worker left is taken back', async () => {
    const [id] = await onPool(ground.database).add({});
    await makeStale(ground.database, await ground.queue.claim(1));
    const worker = await ground.start();
    expect(await worker.event('dissolved')).toMatchObject({ jobs: [{ id }] });
    await worker.event('settled');
  });

  it('an application installs the schema, and enqueues alone and in transactions at the same time', async () => {
    await ground.database.query('drop schema pgqueue cascade');
    const [one, other] = await Promise.all([ground.producer(), ground.producer()]);
    const worker = await ground.start();
    const enqueue = (index: number) =>
      index % 2 === 0
        ? one.queue.enqueueMany([{ entrypoint: 'work' }, { entrypoint: 'work' }])
        : other.dataSource.transaction((manager) =>
            other.queue.enqueueMany([{ entrypoint: 'work' }, { entrypoint: 'work' }], { manager }),
          );
    await Promise.all(Array.from({ length: 20 }, (_, index) => enqueue(index)));
    await eventually(async () => expect(await ground.log()).toHaveLength(40));
    expect(worker.events.filter(({ type }) => type === 'error')).toEqual([]);
  });
});

import { Injectable } from '@nestjs/common';
import { Entrypoint, PgQueueWorker, type Job, type JobContext, type WorkerOptions } from 'nestjs-pgqueue';
import { deferred, eventually, openSession } from '../support/index.js';
import { useGround, workerStops } from './support/index.js';

describe('drain() that ends early', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  const boot = async (work: (job: Job, context: JobContext) => unknown, given: WorkerOptions = {}) => {
    @Injectable()
    class Handlers {
      @Entrypoint('work', { retry: { delay: 0 } })
      work(job: Job, context: JobContext) {
        return work(job, context);
      }
    }
    const options = { worker: { autoStart: false, concurrency: 1, ...given } };
    const { app, queue } = await ground.start({ providers: [Handlers] }, options);
    return { app, queue, worker: app.get(PgQueueWorker) };
  };
  const someoneWaits = () =>
    eventually(async () => {
      const waiting = `datname = current_database() and wait_event_type = 'Lock'`;
      return (await ground.database.query(`select from pg_stat_activity where ${waiting}`)).length > 0;
    });
  const twoJobs = [{ entrypoint: 'work' }, { entrypoint: 'work' }];
  const until = (signal: AbortSignal) =>
    new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

  it('because its signal was aborted before it began claims nothing', async () => {
    const { queue, worker } = await boot(() => undefined);
    await queue.enqueueMany(twoJobs);
    expect(await worker.drain({ signal: AbortSignal.abort() })).toEqual([]);
    expect(await ground.queued()).toEqual(['work', 'work']);
  });

  it('because its signal aborts claims no more, and lets the running job end', async () => {
    const stop = new AbortController();
    const stops = workerStops();
    const { queue, worker } = await boot(async () => {
      stop.abort();
      await stops;
    });
    const [first] = await queue.enqueueMany(twoJobs);
    expect(await worker.drain({ signal: stop.signal })).toEqual([
      { id: first?.id, entrypoint: 'work', attempt: 1, status: 'successful' },
    ]);
    expect(await ground.queued()).toEqual(['work']);
    expect(await worker.drain()).toHaveLength(1);
  });

  it('aborts a handler that takes longer than shutdownTimeout, whose job has not spent the attempt', async () => {
    const stop = new AbortController();
    const { queue, worker } = await boot((_, { signal }) => (stop.abort(), until(signal)), { shutdownTimeout: 0 });
    await queue.enqueue('work', undefined, { maxAttempts: 1 });
    expect(await worker.drain({ signal: stop.signal })).toMatchObject([{ attempt: 1, status: 'released' }]);
    expect(await ground.database.query('select status, attempt from pgqueue.job')).toEqual([
      { status: 'queued', attempt: 0 },
    ]);
  });

  it('because the application closes: close() waits for it, and it returns what has ended', async () => {
    const begun = deferred();
    const stops = workerStops();
    const { app, queue, worker } = await boot(async () => {
      begun.resolve();
      await stops;
    });
    await queue.enqueueMany(twoJobs);
    const drained = worker.drain();
    await begun.promise;
    await app.close();
    expect(await ground.log()).toEqual([{ entrypoint: 'work', attempt: 1, status: 'successful' }]);
    expect(await drained).toMatchObject([{ status: 'successful' }]);
    expect(await ground.queued()).toEqual(['work']);
  });

  it('because it can not claim rejects with the reason', async () => {
    const { worker } = await boot(() => undefined);
    await ground.database.query('alter table pgqueue.job rename to elsewhere');
    await expect(worker.drain()).rejects.toMatchObject({ code: '42P01' });
    await ground.database.query('alter table pgqueue.elsewhere rename to job');
    expect(await worker.drain()).toEqual([]);
  });

  it('because what has ended can not be written for heartbeatTimeout rejects as well', async () => {
    const { queue, worker } = await boot(() => ground.database.query('alter table pgqueue.job rename to elsewhere'), {
      heartbeatTimeout: 300,
    });
    await queue.enqueue('work');
    await expect(worker.drain()).rejects.toMatchObject({ code: '42P01' });
    await ground.database.query('alter table pgqueue.elsewhere rename to job');
    expect(await ground.log()).toEqual([]);
  });

  it('because its signal aborts while nothing can be written does not reject, and tells that nothing was', async () => {
    const stop = new AbortController();
    const { queue, worker } = await boot(async () => {
      await ground.database.query('alter table pgqueue.job rename to elsewhere');
      stop.abort();
    });
    await queue.enqueue('work');
    expect(await worker.drain({ signal: stop.signal })).toMatchObject([{ attempt: 1, status: 'lost' }]);
    await ground.database.query('alter table pgqueue.elsewhere rename to job');
  });

  it.each([
    ['its signal aborts', 'claim'],
    ['its signal aborts', 'job'],
    ['the application closes', 'claim'],
    ['the application closes', 'job'],
  ])('because %s does not wait for a statement that waits for the table %s, nor reject', async (why, table) => {
    const stop = new AbortController();
    const { app, queue, worker } = await boot(() => undefined);
    await queue.enqueue('work');
    const session = await openSession(ground.database);
    await session.begin();
    await session.db.query(`lock table pgqueue.${table}`);
    const drained = worker.drain({ signal: stop.signal });
    await someoneWaits();
    const stopped = why === 'its signal aborts' ? stop.abort() : app.close();
    expect(await drained).toEqual([]);
    await stopped;
    await session.rollback();
    await session.end();
    expect(await ground.queued()).toEqual(['work']);
  });
});

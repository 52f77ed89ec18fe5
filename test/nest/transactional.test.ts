import { Injectable, type Type } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Entrypoint, type EntrypointOptions, type Job, type JobContext } from 'nestjs-pgqueue';
import { deferred, eventually, takeAway } from '../support/index.js';
import { useGround } from './support/index.js';

type Handler = (job: Job<number>, context: JobContext, dataSource: DataSource) => unknown;

const NOW = { retry: { maxAttempts: 3, delay: 0 } };

function handlers(handler: Handler, options: EntrypointOptions): Type {
  @Injectable()
  class Handlers {
    constructor(private readonly dataSource: DataSource) {}
    @Entrypoint('work', options)
    work(job: Job<number>, context: JobContext) {
      return handler(job, context, this.dataSource);
    }
  }
  return Handlers;
}

const insert = (manager: EntityManager, { id, attempt }: Job<number>) =>
  manager.query('insert into public.effect (job_id, attempt) values ($1, $2)', [id, attempt]);

describe('a handler', () => {
  const ground = useGround();
  beforeEach(() => ground.database.query('create table public.effect (job_id bigint, attempt int)'));

  const start = async (handler: Handler, options: EntrypointOptions, worker = {}) => {
    const app = await ground.start({ providers: [handlers(handler, options)] }, { worker });
    const { id } = await app.queue.enqueue('work', 1);
    return { ...app, id };
  };
  const effects = async () =>
    (await ground.database.query<{ attempt: number }>('select attempt from public.effect order by attempt')).map(
      ({ attempt }) => attempt,
    );
  const statuses = async () => (await ground.log()).map(({ status }) => status);
  const ended = (count: number) => eventually(async () => expect(await statuses()).toHaveLength(count));
  const nothingLeft = async () => {
    expect(await ground.database.query('select from pgqueue.job')).toEqual([]);
    await eventually(async () => expect(await ground.database.query('select from pgqueue.claim')).toEqual([]));
  };

  describe('that is transactional', () => {
    const transactional = { ...NOW, transactional: true };

    it('writes its effects and the end of its attempt in one transaction', async () => {
      const written = deferred();
      const goOn = deferred();
      await start(async (job, { manager }) => {
        await insert(manager, job);
        written.resolve();
        await goOn.promise;
        return { done: job.id };
      }, transactional);
      await written.promise;
      expect(await effects()).toEqual([]);
      goOn.resolve();
      await ended(1);
      expect(await effects()).toEqual([1]);
      expect(
        await ground.database.query('select status, result, worker is not null as known from pgqueue.job_log'),
      ).toEqual([{ status: 'successful', result: { done: '1' }, known: true }]);
      await nothingLeft();
    });

    it('leaves nothing of an attempt that fails, and is tried again', async () => {
      await start(async (job, { manager }) => {
        await insert(manager, job);
        if (job.attempt < 3) throw new Error('no');
      }, transactional);
      await ended(3);
      expect(await effects()).toEqual([3]);
      expect(await statuses()).toEqual(['retried', 'retried', 'successful']);
      await nothingLeft();
    });

    it('leaves nothing of an attempt whose claim is lost', async () => {
      const written = deferred();
      const goOn = deferred();
      await start(async (job, { manager }) => {
        await insert(manager, job);
        written.resolve();
        if ((await effects()).length === 0) await goOn.promise;
      }, transactional);
      await written.promise;
      await takeAway(ground.database);
      await ground.database.query(`select pg_notify('pgqueue:pgqueue', '')`);
      goOn.resolve();
      await eventually(async () => expect(await statuses()).toEqual(['lost', 'successful']));
      expect(await effects()).toHaveLength(1);
      await nothingLeft();
    });

    it('leaves nothing of an attempt that has taken longer than its timeout, although it goes on', async () => {
      const goOn = deferred();
      const late = deferred();
      await start(
        async (job, { manager }) => {
          await insert(manager, job);
          if (job.attempt > 1) return;
          await goOn.promise;
          late.resolve();
        },
        { ...transactional, timeout: 300 },
      );
      await ended(2);
      goOn.resolve();
      await late.promise;
      expect(await statuses()).toEqual(['retried', 'successful']);
      await nothingLeft();
      expect(await effects()).toEqual([2]);
    });

    it('leaves nothing of an attempt that shutdown has aborted', async () => {
      const written = deferred();
      const app = await start(
        async (job, { manager, signal }) => {
          await insert(manager, job);
          written.resolve();
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
        },
        transactional,
        { shutdownTimeout: 50 },
      );
      await written.promise;
      await app.close();
      expect(await effects()).toEqual([]);
      expect(await ground.database.query('select status, attempt from pgqueue.job')).toEqual([
        { status: 'queued', attempt: 0 },
      ]);
    });

    it('runs again when its commit fails', async () => {
      await ground.database.query(`
        alter table public.effect add constraint later unique (job_id) deferrable initially deferred;
        insert into public.effect values (1, 0)`);
      await start((job, { manager }) => insert(manager, job), {
        ...NOW,
        transactional: true,
        retry: { maxAttempts: 1 },
      });
      await ended(1);
      expect(await statuses()).toEqual(['failed']);
      expect(await effects()).toEqual([0]);
    });

    it('undoes an attempt whose end was written in a savepoint that is undone, when its claim is lost', async () => {
      let runs = 0;
      await start(async (job, context) => {
        await insert(context.manager, job);
        const inner = context.manager.transaction(async (nested) => {
          await context.completeWith(nested);
          throw new Error('undone');
        });
        await inner.catch(() => undefined);
        if (runs++ === 0) await takeAway(ground.database);
      }, transactional);
      await eventually(async () => expect(await statuses()).toEqual(['lost', 'successful']));
      expect(await effects()).toHaveLength(1);
      await nothingLeft();
    });

    it('keeps no lock when it has taken longer than its timeout, and can do nothing more', async () => {
      await ground.database.query('insert into public.effect values (0, 0)');
      const refusal = deferred<unknown>();
      const goOn = deferred();
      await start(
        async (job, { manager }) => {
          await manager.query('update public.effect set attempt = $1', [job.attempt]);
          if (job.attempt > 1) return;
          await goOn.promise;
          await insert(manager, job).catch(refusal.resolve);
        },
        { ...transactional, timeout: 500 },
      );
      await ended(2);
      expect(await statuses()).toEqual(['retried', 'successful']);
      goOn.resolve();
      expect(await refusal.promise).toMatchObject({ name: expect.stringContaining('AlreadyReleased') as string });
      expect(await effects()).toEqual([2]);
    });

    it('may say that it is done more than once', async () => {
      await start(async (job, context) => {
        await insert(context.manager, job);
        await context.completeWith(context.manager, 1);
        await context.completeWith(context.manager, 2);
      }, transactional);
      await ended(1);
      expect(await ground.database.query('select status, result from pgqueue.job_log')).toEqual([
        { status: 'successful', result: 1 },
      ]);
      expect(await effects()).toEqual([1]);
    });

    it('may enqueue in its transaction, and use completeWith itself', async () => {
      const app = await ground.start(
        {
          providers: [
            handlers(async (job, context) => {
              await insert(context.manager, job);
              await context.completeWith(context.manager, 'early');
            }, transactional),
          ],
        },
        {},
      );
      await app.queue.enqueue('work', 1);
      await ended(1);
      expect(await effects()).toEqual([1]);
      expect(await ground.database.query('select result from pgqueue.job_log')).toEqual([{ result: 'early' }]);
      await nothingLeft();
    });

    it('is told of as done by a drain, once', async () => {
      const app = await ground.start(
        { providers: [handlers((job, { manager }) => insert(manager, job), transactional)] },
        { worker: { autoStart: false } },
      );
      const { id } = await app.queue.enqueue('work', 1);
      const { PgQueueWorker } = await import('nestjs-pgqueue');
      expect(await app.app.get(PgQueueWorker).drain()).toEqual([
        { id, entrypoint: 'work', attempt: 1, status: 'successful' },
      ]);
      await nothingLeft();
    });
  });

  describe('that completes its job in a transaction of its own', () => {
    it('writes both or none, and is tried again when its transaction is undone', async () => {
      await start(
        (job, context, dataSource) =>
          dataSource.transaction(async (manager) => {
            await insert(manager, job);
            await context.completeWith(manager, job.attempt);
            if (job.attempt < 3) throw new Error('undone');
          }),
        NOW,
      );
      await ended(3);
      expect(await effects()).toEqual([3]);
      expect(await statuses()).toEqual(['retried', 'retried', 'successful']);
      expect(await ground.database.query(`select result from pgqueue.job_log where status = 'successful'`)).toEqual([
        { result: 3 },
      ]);
      await nothingLeft();
    });

    it('is done, whatever it throws after the commit', async () => {
      await start(async (job, context, dataSource) => {
        await dataSource.transaction(async (manager) => {
          await insert(manager, job);
          await context.completeWith(manager);
        });
        throw new Error('after the commit');
      }, NOW);
      await ended(1);
      await nothingLeft();
      expect(await statuses()).toEqual(['successful']);
      expect(await effects()).toEqual([1]);
    });

    it('is refused when its claim is lost, which undoes its transaction', async () => {
      const refusals: unknown[] = [];
      let runs = 0;
      await start(async (job, context, dataSource) => {
        if (runs++ === 0) await takeAway(ground.database);
        await dataSource
          .transaction(async (manager) => {
            await insert(manager, job);
            await context.completeWith(manager);
          })
          .catch((error: unknown) => refusals.push(error));
      }, NOW);
      await eventually(async () => expect(await statuses()).toEqual(['lost', 'successful']));
      expect(refusals).toMatchObject([{ code: 'PGQUEUE_CLAIM_LOST' }]);
      expect(await effects()).toHaveLength(1);
      await nothingLeft();
    });

    it('waits for whoever holds the job locked', async () => {
      const begun = deferred();
      const locked = deferred();
      const completing = deferred();
      await start(async (job, context, dataSource) => {
        begun.resolve();
        await locked.promise;
        await dataSource.transaction(async (manager) => {
          await insert(manager, job);
          completing.resolve();
          await context.completeWith(manager);
        });
      }, NOW);
      await begun.promise;
      const client = await ground.database.pool.connect();
      await client.query('begin; select from pgqueue.job for update');
      locked.resolve();
      await completing.promise;
      await client.query('commit');
      client.release();
      await ended(1);
      expect(await effects()).toEqual([1]);
      await nothingLeft();
    });

    it.each<[string, (dataSource: DataSource) => unknown, RegExp]>([
      ['without a transaction', ({ manager }) => manager, /in no transaction/],
      ['that is none', () => ({}), /no EntityManager/],
    ])('gets a clear error for a manager %s', async (_, managerOf, message) => {
      const { promise, resolve } = deferred<unknown>();
      await start(async (_job, context, dataSource) => {
        await context.completeWith(managerOf(dataSource) as EntityManager).catch(resolve);
      }, NOW);
      expect(await promise).toMatchObject({
        code: 'PGQUEUE_MANAGER',
        message: expect.stringMatching(message) as string,
      });
    });
  });

  it('that is not transactional has no manager, and is told so', async () => {
    await start((job, { manager }) => insert(manager, job), { retry: { maxAttempts: 1 } });
    await ended(1);
    expect(await ground.database.query('select status, error from pgqueue.job_log')).toEqual([
      { status: 'failed', error: expect.stringContaining('transactional: true') as string },
    ]);
  });
});

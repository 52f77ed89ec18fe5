import { ManagerError, type PgQueueProducer } from 'nestjs-pgqueue';
import { DataSource, type EntityManager, EntitySchema } from 'typeorm';
import {
  createTestDatabase,
  deferred,
  startApp,
  startWorker,
  type TestApp,
  type TestDatabase,
} from '../support/index.js';

const Order = new EntitySchema<{ id: number }>({ name: 'order', columns: { id: { type: 'integer', primary: true } } });

describe('enqueueing in a transaction', () => {
  let database: TestDatabase;
  let producer: TestApp;
  let queue: PgQueueProducer;
  beforeAll(async () => {
    database = await createTestDatabase();
    producer = await startApp(database.url, {}, { worker: false });
    queue = producer.queue;
  });
  afterEach(() => database.query('truncate pgqueue.job'));
  afterAll(async () => {
    await producer.close();
    await database.drop();
  });

  const stored = async () =>
    (await database.query<{ entrypoint: string }>('select entrypoint from pgqueue.job order by id')).map(
      ({ entrypoint }) => entrypoint,
    );
  const rollback = new Error('roll back');
  const rolledBack = (work: (manager: EntityManager) => Promise<unknown>) =>
    expect(
      producer.dataSource.transaction(async (manager) => {
        await work(manager);
        throw rollback;
      }),
    ).rejects.toBe(rollback);

  it('commits the job with it, and nobody sees the job before', async () => {
    const { id } = await producer.dataSource.transaction(async (manager) => {
      const job = await queue.enqueue('inside', 1, { manager });
      await queue.enqueueMany([{ entrypoint: 'many' }, { entrypoint: 'many' }], { manager });
      expect(await stored()).toEqual([]);
      expect(await manager.query('select count(*)::int from pgqueue.job')).toEqual([{ count: 3 }]);
      return job;
    });
    expect(await stored()).toEqual(['inside', 'many', 'many']);
    expect(await database.query('select id from pgqueue.job order by id limit 1')).toEqual([{ id }]);
  });

  it('loses the job with it when it is rolled back', async () => {
    await rolledBack(async (manager) => {
      await queue.enqueue('one', 1, { manager });
      await queue.enqueueMany([{ entrypoint: 'two' }], { manager });
    });
    expect(await stored()).toEqual([]);
  });

  it('without its manager, or with the root manager, commits at once and stays', async () => {
    await rolledBack(async (manager) => {
      await queue.enqueue('without', 1);
      await queue.enqueue('undefined', 1, { manager: undefined });
      await queue.enqueue('root', 1, { manager: producer.dataSource.manager });
      expect(await stored()).toEqual(['without', 'undefined', 'root']);
      await queue.enqueue('inside', 1, { manager });
    });
    expect(await stored()).toEqual(['without', 'undefined', 'root']);
  });

  it('loses only what was enqueued since an inner savepoint that is rolled back', async () => {
    await producer.dataSource.transaction(async (outer) => {
      await queue.enqueue('outer', 1, { manager: outer });
      const inner = outer.transaction(async (manager) => {
        await queue.enqueue('inner', 1, { manager });
        throw rollback;
      });
      await expect(inner).rejects.toBe(rollback);
      await queue.enqueue('after', 1, { manager: outer });
    });
    expect(await stored()).toEqual(['outer', 'after']);
  });

  it('goes on after an enqueue that was refused', async () => {
    await producer.dataSource.transaction(async (manager) => {
      await expect(queue.enqueue('refused', 1n, { manager })).rejects.toThrow();
      await expect(queue.enqueue('refused', 1, { manager, priority: 0.5 })).rejects.toThrow();
      await queue.enqueue('next', 1, { manager });
    });
    expect(await stored()).toEqual(['next']);
  });

  it('takes several enqueues at once, in the order of the calls', async () => {
    await producer.dataSource.transaction((manager) =>
      Promise.all(['a', 'b', 'c'].map((name) => queue.enqueue(name, 1, { manager }))),
    );
    expect(await stored()).toEqual(['a', 'b', 'c']);
  });

  it.each(['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const)(
    'works in one that is %s',
    async (isolation) => {
      await producer.dataSource.transaction(isolation, (manager) => queue.enqueue('inside', 1, { manager }));
      expect(await stored()).toEqual(['inside']);
    },
  );

  it('that a query runner began is written by its manager', async () => {
    const runner = producer.dataSource.createQueryRunner();
    await runner.startTransaction();
    await queue.enqueue('undone', 1, { manager: runner.manager });
    await runner.rollbackTransaction();
    await runner.startTransaction();
    await queue.enqueue('kept', 1, { manager: runner.manager });
    await runner.commitTransaction();
    await runner.release();
    expect(await stored()).toEqual(['kept']);
    await expect(queue.enqueue('late', 1, { manager: runner.manager })).rejects.toBeInstanceOf(ManagerError);
  });

  it('wakes a worker at its commit', async () => {
    const handled = deferred();
    const worker = await startWorker(database.url, { wake: () => handled.resolve() }, { pollInterval: 60_000 });
    await worker.event('listening');
    await producer.dataSource.transaction((manager) => queue.enqueue('first', 1, { manager }));
    await producer.dataSource.transaction((manager) => queue.enqueue('wake', 1, { manager }));
    await handled.promise;
    await worker.stop();
  });

  describe('refuses, and stores nothing, for', () => {
    const refuses = async (manager: unknown, message: RegExp) => {
      const given = manager as EntityManager;
      for (const attempt of [
        () => queue.enqueue('refused', 1, { manager: given }),
        () => queue.enqueueMany([{ entrypoint: 'refused' }], { manager: given }),
        () => queue.enqueueMany([], { manager: given }),
      ]) {
        const error: unknown = await attempt().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ManagerError);
        expect(error).toMatchObject({ code: 'PGQUEUE_MANAGER', message: expect.stringMatching(message) });
      }
      expect(await stored()).toEqual([]);
    };

    it('a manager that was kept after the commit, or after the rollback', async () => {
      const committed = await producer.dataSource.transaction((manager) => Promise.resolve(manager));
      await refuses(committed, /transaction of the manager is over/);
      let kept: EntityManager | undefined;
      await rolledBack((manager) => Promise.resolve((kept = manager)));
      await refuses(kept, /transaction of the manager is over/);
    });

    it('what is no manager: a query runner, a repository, a DataSource, null, a plain object', async () => {
      const runner = producer.dataSource.createQueryRunner();
      const orders = new DataSource({ type: 'postgres', url: database.url, entities: [Order] });
      await orders.initialize();
      for (const wrong of [runner, orders.getRepository(Order), producer.dataSource, null, {}, 'manager', 0]) {
        await refuses(wrong, /no EntityManager/);
      }
      await orders.destroy();
      await runner.release();
    });

    it('a manager of another DataSource, even one to the same database', async () => {
      const other = await new DataSource({ type: 'postgres', url: database.url }).initialize();
      await refuses(other.manager, /another DataSource than the queue 'default'/);
      await other.transaction((manager) => refuses(manager, /another DataSource/));
      await other.destroy();
    });

    it('a manager in the place of the target of enqueueMany', async () => {
      await producer.dataSource.transaction(async (manager) => {
        const attempt = queue.enqueueMany([{ entrypoint: 'refused' }], manager as object);
        await expect(attempt).rejects.toMatchObject({ code: 'PGQUEUE_INVALID_OPTION' });
      });
      expect(await stored()).toEqual([]);
    });
  });
});

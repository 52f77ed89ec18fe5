import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { Transactional as ClsTransactional, ClsPluginTransactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { getDataSourceToken } from '@nestjs/typeorm';
import { ClsModule } from 'nestjs-cls';
import { ManagerError, PgQueueModule, PgQueueProducer, type AmbientTransaction } from 'nestjs-pgqueue';
import { DataSource, type EntityManager } from 'typeorm';
import {
  addTransactionalDataSource,
  deleteDataSourceByName,
  initializeTransactionalContext,
  Propagation,
  runInTransaction,
  StorageDriver,
} from 'typeorm-transactional';
import { useGround } from '../nest/support/index.js';
import { deferred } from '../support/index.js';

const ROLLBACK = new Error('roll back');
const rollBack = () => {
  throw ROLLBACK;
};

describe('the option transaction', () => {
  const ground = useGround();
  const boot = async (transaction: (dataSource: DataSource) => AmbientTransaction) => {
    const queue = PgQueueModule.forRootAsync({
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => ({ worker: false, transaction: transaction(dataSource) }),
    });
    const app = await ground.boot({ imports: [ground.typeOrm(), queue] });
    return { queue: app.get(PgQueueProducer), dataSource: app.get(DataSource) };
  };

  it('is asked once by each call that has no manager', async () => {
    const ask = jest.fn();
    const { queue, dataSource } = await boot(() => ask);
    await queue.enqueue('a');
    await queue.enqueueMany([{ entrypoint: 'b' }, { entrypoint: 'c' }]);
    await queue.enqueueMany([]);
    expect(ask.mock.calls).toEqual([[], [], []]);
    await dataSource.transaction((manager) => queue.enqueue('d', 1, { manager }));
    await queue.enqueue('e', 1, { manager: dataSource.manager });
    expect(ask).toHaveBeenCalledTimes(3);
  });

  it('carries what is enqueued, and an explicit manager wins', async () => {
    let ambient: EntityManager | undefined;
    const { queue, dataSource } = await boot(() => () => ambient);
    const work = dataSource.transaction(async (manager) => {
      ambient = manager;
      await queue.enqueue('ambient');
      await queue.enqueueMany([{ entrypoint: 'ambient' }]);
      await queue.enqueue('explicit', 1, { manager: dataSource.manager });
      rollBack();
    });
    await expect(work).rejects.toBe(ROLLBACK);
    expect(await ground.queued()).toEqual(['explicit']);
    ambient = dataSource.manager;
    await queue.enqueue('without a transaction');
    expect(await ground.queued()).toEqual(['explicit', 'without a transaction']);
  });

  it.each([null, {}, Promise.resolve(), 'manager'])('must not return %p', async (wrong) => {
    const { queue } = await boot(() => () => wrong as never);
    const error: unknown = await queue.enqueue('a').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ManagerError);
    expect((error as Error).message).toContain('What the option transaction returned is no EntityManager');
    expect(await ground.queued()).toEqual([]);
  });

  it('must not return the manager of another DataSource, or of a transaction that is over', async () => {
    let ambient: EntityManager | undefined;
    const { queue, dataSource } = await boot(() => () => ambient);
    ambient = (await ground.dataSource()).manager;
    await expect(queue.enqueue('a')).rejects.toThrow(/another DataSource/);
    await dataSource.transaction((manager) => Promise.resolve((ambient = manager)));
    await expect(queue.enqueue('a')).rejects.toThrow(/transaction of the manager is over/);
    expect(await ground.queued()).toEqual([]);
  });

  it('throws as it does', async () => {
    const { queue } = await boot(() => rollBack);
    await expect(queue.enqueue('a')).rejects.toBe(ROLLBACK);
  });

  describe('with typeorm-transactional', () => {
    const NAME = 'ambient';
    beforeAll(() => void initializeTransactionalContext({ storageDriver: StorageDriver.ASYNC_LOCAL_STORAGE }));
    afterEach(() => void deleteDataSourceByName(NAME));

    const options = { connectionName: NAME };
    const start = () =>
      boot((dataSource) => {
        addTransactionalDataSource({ name: NAME, dataSource });
        return () => dataSource.manager;
      });

    it('loses the job with the transaction, and keeps that of another one of the same tick', async () => {
      const { queue } = await start();
      const begun = deferred();
      const inside = runInTransaction(async () => {
        begun.resolve();
        await queue.enqueue('inside');
        rollBack();
      }, options);
      await begun.promise;
      await Promise.all([expect(inside).rejects.toBe(ROLLBACK), queue.enqueue('outside')]);
      expect(await ground.queued()).toEqual(['outside']);
    });

    it('commits the job with the transaction, also of a batch, and nobody sees it before', async () => {
      const { queue } = await start();
      await runInTransaction(async () => {
        await queue.enqueue('one');
        await queue.enqueueMany([{ entrypoint: 'two' }]);
        expect(await ground.queued()).toEqual([]);
      }, options);
      expect(await ground.queued()).toEqual(['one', 'two']);
    });

    it('knows nested, new and suspended transactions', async () => {
      const { queue } = await start();
      const nested = (name: string, propagation: Propagation, end?: () => void) =>
        runInTransaction(
          async () => {
            await queue.enqueue(name);
            end?.();
          },
          { ...options, propagation },
        );
      await runInTransaction(async () => {
        await queue.enqueue('outer');
        await nested('suspended', Propagation.NOT_SUPPORTED);
        expect(await ground.queued()).toEqual(['suspended']);
        await nested('new', Propagation.REQUIRES_NEW);
        await expect(nested('undone', Propagation.NESTED, rollBack)).rejects.toBe(ROLLBACK);
      }, options);
      expect((await ground.queued()).toSorted()).toEqual(['new', 'outer', 'suspended']);
    });

    it('commits at once what is enqueued after the end of the transaction, which is forgotten then', async () => {
      const { queue } = await start();
      const ended = deferred();
      let late: Promise<unknown> | undefined;
      await runInTransaction(() => {
        late = ended.promise.then(() => queue.enqueue('late'));
        return Promise.resolve();
      }, options);
      ended.resolve();
      await late;
      expect(await ground.queued()).toEqual(['late']);
    });

    it('leaves a producer without the option outside of every transaction', async () => {
      const { queue } = await boot((dataSource) => {
        addTransactionalDataSource({ name: NAME, dataSource });
        return () => undefined;
      });
      const work = runInTransaction(async () => void (await queue.enqueue('alone'), rollBack()), options);
      await expect(work).rejects.toBe(ROLLBACK);
      expect(await ground.queued()).toEqual(['alone']);
    });
  });

  it('with nestjs-cls loses the job with the transaction, and keeps what is enqueued outside', async () => {
    @Injectable()
    class Orders {
      constructor(private readonly queue: PgQueueProducer) {}
      @ClsTransactional()
      async place(end: () => void) {
        await this.queue.enqueue('inside');
        end();
      }
    }
    const typeOrm = ground.typeOrm();
    @Module({ imports: [typeOrm], exports: [typeOrm] })
    class Database {}
    const cls: DynamicModule = ClsModule.forRoot({
      plugins: [
        new ClsPluginTransactional({
          imports: [Database],
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() }),
        }),
      ],
    });
    const queue = PgQueueModule.forRootAsync({
      inject: [TransactionHost],
      useFactory: (host: TransactionHost<TransactionalAdapterTypeOrm>) => ({
        worker: false,
        transaction: () => host.tx,
      }),
    });
    const app = await ground.boot({ imports: [Database, cls, queue], providers: [Orders] });
    const orders = app.get(Orders);
    await expect(orders.place(rollBack)).rejects.toBe(ROLLBACK);
    expect(await ground.queued()).toEqual([]);
    await app.get(PgQueueProducer).enqueue('outside');
    await orders.place(() => undefined);
    expect(await ground.queued()).toEqual(['outside', 'inside']);
  });
});

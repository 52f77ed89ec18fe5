import { Injectable, Module, type DynamicModule, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Entrypoint, PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { createTestDatabase, deferred } from '../support/index.js';
import { useGround } from './support/index.js';

describe('PgQueueModule', () => {
  const ground = useGround();

  const orders: [string, (queue: DynamicModule, typeOrm: DynamicModule) => DynamicModule[]][] = [
    ['before TypeOrmModule', (queue, typeOrm) => [queue, typeOrm]],
    ['after TypeOrmModule', (queue, typeOrm) => [typeOrm, queue]],
    ['in a module before that of TypeOrmModule', (queue, typeOrm) => [nested(queue), nested(typeOrm)]],
    ['in a module after that of TypeOrmModule', (queue, typeOrm) => [nested(typeOrm), nested(queue)]],
    ['deeper than TypeOrmModule', (queue, typeOrm) => [nested(nested(queue)), typeOrm]],
    ['above TypeOrmModule', (queue, typeOrm) => [queue, nested(nested(typeOrm))]],
  ];
  const nested = (module: DynamicModule): DynamicModule => ({ module: class Nesting {}, imports: [module] });

  it.each(orders)('can be imported %s', async (_, order) => {
    const heard = deferred();
    @Injectable()
    class Worker {
      @Entrypoint('work')
      work() {
        heard.resolve();
      }
    }
    const imports = order(PgQueueModule.forRoot(), ground.typeOrm());
    const app = await ground.boot({ imports, providers: [Worker] });
    await app.get(PgQueueProducer).enqueue('work');
    await heard.promise;
  });

  it('waits for a DataSource that takes its time', async () => {
    const optionsMade = deferred();
    const queue = PgQueueModule.forRootAsync({ useFactory: () => (optionsMade.resolve(), {}) });
    // TypeORM begins to connect only when the queue has its options and waits for nothing else.
    const app = await ground.boot({ imports: [queue, ground.typeOrm({ until: optionsMade.promise })] });
    await app.get(PgQueueProducer).enqueue('work');
    expect(await ground.queued()).toEqual(['work']);
  });

  it('has brought the schema up to date when the first hooks run, so that they can enqueue', async () => {
    const empty = await createTestDatabase({ empty: true });
    @Injectable()
    class Seeder implements OnModuleInit, OnApplicationBootstrap {
      constructor(
        readonly queue: PgQueueProducer,
        readonly dataSource: DataSource,
      ) {}
      async onModuleInit() {
        await this.dataSource.transaction((manager) => this.queue.enqueue('seed', 1, { manager }));
      }
      async onApplicationBootstrap() {
        await this.queue.enqueue('seed', 2);
      }
    }
    const imports = [ground.typeOrm({ url: empty.url }), PgQueueModule.forRoot()];
    const app = await ground.boot({ imports, providers: [Seeder] });
    expect(await empty.query('select payload from pgqueue.job order by id')).toEqual([{ payload: 1 }, { payload: 2 }]);
    await app.close();
    await empty.drop();
  });
});

describe('the producer', () => {
  const ground = useGround();

  @Injectable()
  class Shop {
    constructor(readonly queue: PgQueueProducer) {}
  }
  @Module({ providers: [Shop] })
  class ShopModule {}

  it('can be injected everywhere', async () => {
    const app = await ground.boot({ imports: [ShopModule, ground.typeOrm(), PgQueueModule.forRoot()] });
    await app.get(Shop, { strict: false }).queue.enqueue('work');
    expect(await ground.queued()).toEqual(['work']);
  });

  it('can not be injected in modules that do not import it, with isGlobal: false', async () => {
    const imports = [ShopModule, ground.typeOrm(), PgQueueModule.forRoot({ isGlobal: false })];
    await expect(ground.boot({ imports })).rejects.toThrow(
      'the argument PgQueueProducer at index [0] is available in the ShopModule',
    );
  });

  it('can be injected in modules that import it, with isGlobal: false, and handlers are found everywhere', async () => {
    const heard = deferred();
    @Injectable()
    class Worker {
      @Entrypoint('work')
      work() {
        heard.resolve();
      }
    }
    const queue = PgQueueModule.forRootAsync({ isGlobal: false, useFactory: () => ({}) });
    @Module({ imports: [queue], providers: [Shop] })
    class BuyingModule {}
    const app = await ground.boot({ imports: [BuyingModule, ground.typeOrm()], providers: [Worker] });
    await app.get(Shop, { strict: false }).queue.enqueue('work');
    await heard.promise;
  });
});

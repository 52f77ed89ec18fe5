import { Injectable, Module, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Transport } from '@nestjs/microservices';
import { DataSource } from 'typeorm';
import { Entrypoint, PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { Worker } from '../../lib/claimer/worker.js';
import { QueueLifecycle } from '../../lib/nest/queue-lifecycle.js';
import { deferred, silentLogger } from '../support/index.js';
import { useGround, waysToStart } from './support/index.js';

describe('an application that does not start as usual', () => {
  const ground = useGround();
  const start = jest.spyOn(Worker.prototype, 'start');
  beforeEach(() => start.mockClear());

  const failure = new Error('not today');
  const fail = () => Promise.reject(failure);

  @Injectable()
  class Handlers {
    @Entrypoint('work')
    work() {}
  }
  @Injectable()
  class FailsInBootstrap implements OnApplicationBootstrap {
    onApplicationBootstrap = fail;
  }
  @Injectable()
  class FailsInInit implements OnModuleInit {
    onModuleInit = fail;
  }
  @Injectable()
  class Refused {
    @Entrypoint('work')
    alsoWork() {}
  }

  it.each([
    ['an onModuleInit hook', FailsInInit, failure.message],
    ['an onApplicationBootstrap hook', FailsInBootstrap, failure.message],
    ['the check of its handlers', Refused, 'has two handlers'],
  ])('because %s fails has started no worker, and close() is clean', async (_, Failing, message) => {
    @Module({ imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers, Failing] })
    class Root {}
    await ground.database.query(`insert into pgqueue.job (entrypoint) values ('work')`);
    const app = await NestFactory.create(Root, { logger: silentLogger });
    const dataSource = app.get(DataSource);
    await expect(app.listen(0)).rejects.toThrow(message);
    await app.close();
    expect(start).not.toHaveBeenCalled();
    expect(dataSource.isInitialized).toBe(false);
    await expect(app.get(PgQueueProducer).enqueue('work')).rejects.toMatchObject({ code: 'PGQUEUE_CLOSED' });
    expect(await ground.queued()).toEqual(['work']);
  });

  it('because a hook fails has started no worker with microservices beside it, and close() is clean', async () => {
    @Module({ imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers, FailsInBootstrap] })
    class Root {}
    const app = await NestFactory.create(Root, { logger: silentLogger });
    app.connectMicroservice({ transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } });
    await expect(app.startAllMicroservices().then(() => app.listen(0))).rejects.toBe(failure);
    await app.close();
    expect(start).not.toHaveBeenCalled();
  });

  // A hybrid application that has started its microservices can't be closed without a reference to it, as above.
  it.each(waysToStart.filter(([way]) => !way.includes('startAllMicroservices(), listen()')))(
    'because a hook fails has started no worker with %s',
    async (_, begin) => {
      @Module({ imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers, FailsInBootstrap] })
      class Root {}
      await expect(begin(Root)).rejects.toBe(failure);
      expect(start).not.toHaveBeenCalled();
    },
  );

  it('because a hook fails leaves no connection of its own DataSource behind', async () => {
    const dataSource = { type: 'postgres', url: ground.url } as const;
    @Module({ imports: [PgQueueModule.forRoot({ dataSource })], providers: [Handlers, FailsInBootstrap] })
    class Root {}
    const app = await NestFactory.create(Root, { logger: silentLogger });
    await expect(app.init()).rejects.toBe(failure);
    await app.close();
  });

  it('because it is closed while it starts starts no worker', async () => {
    const [booting, closed] = [deferred(), deferred()];
    @Injectable()
    class Slow implements OnApplicationBootstrap {
      async onApplicationBootstrap() {
        booting.resolve();
        await closed.promise;
      }
    }
    @Module({ imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers, Slow] })
    class Root {}
    const app = await NestFactory.create(Root, { logger: silentLogger });
    const starting = app.init();
    await booting.promise;
    await app.close();
    closed.resolve();
    await starting;
    expect(start).not.toHaveBeenCalled();
  });

  it('because it is closed before has started no worker', async () => {
    @Module({ imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers] })
    class Root {}
    const app = await NestFactory.create(Root, { logger: silentLogger });
    await app.close();
    expect(start).not.toHaveBeenCalled();
  });

  it('because it is closed at once, while it starts, ends in peace', async () => {
    @Module({ imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers] })
    class Root {}
    const app = await NestFactory.create(Root, { logger: silentLogger });
    await Promise.all([app.init(), app.close(), app.close()]);
    await app.close();
  });

  it('because close() overtakes the start of its worker, ends in peace and with no worker', async () => {
    const { onApplicationBootstrap } = QueueLifecycle.prototype;
    const overtaken = jest.spyOn(QueueLifecycle.prototype, 'onApplicationBootstrap');
    overtaken.mockImplementation(async function (this: QueueLifecycle) {
      await Promise.all([onApplicationBootstrap.call(this), this.onModuleDestroy()]);
    });
    await ground.boot({ imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers] });
    overtaken.mockRestore();
    expect(start).not.toHaveBeenCalled();
  });

  it('because its hooks run twice, as with createMicroservice().init(), starts one worker', async () => {
    const app = await ground.boot({ imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers] });
    await (app as unknown as { callBootstrapHook(): Promise<void> }).callBootstrapHook();
    expect(start).toHaveBeenCalledTimes(1);
  });

  it('because it is in preview mode connects to nothing', async () => {
    const dataSource = { type: 'postgres', url: 'postgresql://127.0.0.1:1/never' } as const;
    @Module({ imports: [PgQueueModule.forRoot({ dataSource })], providers: [Handlers] })
    class Root {}
    const app = await NestFactory.createApplicationContext(Root, { preview: true, logger: silentLogger });
    await app.close();
    expect(start).not.toHaveBeenCalled();
  });
});

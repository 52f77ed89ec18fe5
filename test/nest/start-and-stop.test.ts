import { Injectable, Module, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Entrypoint, PgQueueModule } from 'nestjs-pgqueue';
import { deferred, silentLogger } from '../support/index.js';
import { type Layout, layouts, onWorker, useGround } from './support/index.js';

type Start = (root: Type) => Promise<INestApplicationContext>;

const ways: [string, Start][] = [
  [
    'NestFactory.create().listen()',
    async (root) => {
      const app = await NestFactory.create(root, { logger: silentLogger });
      await app.listen(0, '127.0.0.1');
      return app;
    },
  ],
  [
    'NestFactory.createApplicationContext()',
    (root) => NestFactory.createApplicationContext(root, { logger: silentLogger }),
  ],
  [
    'Test.createTestingModule().init()',
    async (root) => {
      const module = await Test.createTestingModule({ imports: [root] })
        .setLogger(silentLogger)
        .compile();
      return module.init();
    },
  ],
  [
    'Test.createTestingModule().createNestApplication()',
    async (root) => {
      const module = await Test.createTestingModule({ imports: [root] })
        .setLogger(silentLogger)
        .compile();
      return module.createNestApplication({ logger: silentLogger }).init();
    },
  ],
];

const IN_ORDER = [
  'init: 0 outcomes',
  'bootstrap: 0 outcomes',
  'worker starts',
  'handler ends: 0 outcomes',
  'destroy: successful',
];

describe('a worker starts after the hooks of all providers, and is drained before them', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  const outcomes = async () => (await ground.log()).map(({ status }) => status);

  /** Runs an application with a job that is queued before and still runs when it closes. Returns what happened, in order. */
  const tell = async (start: Start, layout: Layout): Promise<string[]> => {
    const told: string[] = [];
    const [begun, stopping] = [deferred(), deferred()];
    onWorker('start', () => told.push('worker starts'));
    onWorker('stop', () => stopping.resolve());

    @Injectable()
    class Witness {
      async onModuleInit() {
        told.push(`init: ${(await outcomes()).length} outcomes`);
      }
      async onApplicationBootstrap() {
        told.push(`bootstrap: ${(await outcomes()).length} outcomes`);
      }
      @Entrypoint('work')
      async work() {
        begun.resolve();
        await stopping.promise;
        // A hook that didn't wait for this would run while it asks the database.
        told.push(`handler ends: ${(await outcomes()).length} outcomes`);
      }
      async onModuleDestroy() {
        told.push(`destroy: ${(await outcomes()).join()}`);
      }
    }
    const queue = (imports: Type[] = []) => PgQueueModule.forRootAsync({ imports, useFactory: () => ({}) });
    @Module(layout(Witness, { typeOrm: ground.typeOrm(), queue }))
    class Root {}
    await ground.database.query(`insert into pgqueue.job (entrypoint) values ('work')`);
    const app = ground.keep(await start(Root));
    await begun.promise;
    await app.close();
    return told;
  };

  it.each(ways)('with %s', async (_, start) => {
    const told: Record<string, string[]> = {};
    for (const [place, layout] of layouts) {
      told[place] = await tell(start, layout);
      await ground.database.query('truncate pgqueue.job_log');
    }
    expect(told).toEqual(Object.fromEntries(layouts.map(([place]) => [place, IN_ORDER])));
  });
});

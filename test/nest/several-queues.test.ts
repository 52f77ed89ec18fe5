import { Injectable } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { Entrypoint, getPgQueueToken, InjectPgQueue, PgQueueModule, PgQueueProducer, type Job } from 'nestjs-pgqueue';
import { deferred, countListeners, eventually, type TestDatabase } from '../support/index.js';
import { useGround } from './support/index.js';

/** Two handlers of one name, each on a queue of its own, and a provider that has both producers. */
function twoHandlers() {
  const main = deferred<Job>();
  const reports = deferred<Job>();
  @Injectable()
  class Handlers {
    constructor(
      readonly queue: PgQueueProducer,
      @InjectPgQueue('reports') readonly reportsQueue: PgQueueProducer,
    ) {}
    @Entrypoint('work')
    onMain(job: Job) {
      main.resolve(job);
    }
    @Entrypoint('work', { queue: 'reports' })
    onReports(job: Job) {
      reports.resolve(job);
    }
  }
  return { Handlers, main: main.promise, reports: reports.promise };
}

const ran = (database: TestDatabase, schema = 'pgqueue') =>
  database.query<{ entrypoint: string; status: string }>(`select entrypoint, status from ${schema}.job_log`);

const ONE = [{ entrypoint: 'work', status: 'successful' }];

describe('a second PgQueueModule', () => {
  const ground = useGround();

  it('is refused without a name of its own', async () => {
    const imports = [ground.typeOrm(), PgQueueModule.forRoot(), PgQueueModule.forRoot({ schema: 'other' })];
    await expect(ground.boot({ imports })).rejects.toMatchObject({
      code: 'PGQUEUE_DUPLICATE_QUEUE',
      message: expect.stringContaining(`PgQueueModule is imported twice with the name 'default'`),
    });
  });

  it('is refused with the name of another, however each was made', async () => {
    const second = PgQueueModule.forRootAsync({ name: 'reports', useFactory: () => ({}) });
    const imports = [ground.typeOrm(), PgQueueModule.forRoot({ name: 'reports' }), second];
    await expect(ground.boot({ imports })).rejects.toThrow(`PgQueueModule is imported twice with the name 'reports'`);
  });

  it('is the same one when it is the same object', async () => {
    const queue = PgQueueModule.forRoot();
    await ground.boot({ imports: [ground.typeOrm(), queue, { module: class Feature {}, imports: [queue] }] });
  });

  it.each([[''], [7], [null]])('is refused with the name %p', (name) => {
    expect(() => PgQueueModule.forRoot({ name: name as string })).toThrow('PgQueueModule.name is');
  });
});

describe('two queues in one application', () => {
  const ground = useGround();

  it('on two databases: each has one worker, and each handler only the jobs of its own', async () => {
    const other = await ground.anotherDatabase();
    const { Handlers, main, reports } = twoHandlers();
    const app = await ground.boot({
      imports: [
        ground.typeOrm(),
        ground.typeOrm({ name: 'second', url: other.url }),
        PgQueueModule.forRoot(),
        PgQueueModule.forRoot({ name: 'reports', dataSourceToken: getDataSourceToken('second') }),
      ],
      providers: [Handlers],
    });
    await app.get(Handlers).queue.enqueue('work', 'main');
    await app.get(Handlers).reportsQueue.enqueue('work', 'reports');
    expect((await main).payload).toBe('main');
    expect((await reports).payload).toBe('reports');
    for (const database of [ground.database, other]) {
      await eventually(async () => expect(await countListeners(database)).toBe(1));
    }
    await app.close();
    expect(await ran(ground.database)).toEqual(ONE);
    expect(await ran(other)).toEqual(ONE);
  });

  it('on two schemas of one database: each has one worker, and each handler only the jobs of its own', async () => {
    const { Handlers, main, reports } = twoHandlers();
    const app = await ground.boot({
      imports: [
        ground.typeOrm(),
        PgQueueModule.forRoot(),
        PgQueueModule.forRootAsync({ name: 'reports', useFactory: () => ({ schema: 'reports' }) }),
      ],
      providers: [Handlers],
    });
    await app.get(PgQueueProducer).enqueue('work', 'main');
    await app.get<PgQueueProducer>(getPgQueueToken(PgQueueProducer, 'reports')).enqueue('work', 'reports');
    expect((await main).payload).toBe('main');
    expect((await reports).payload).toBe('reports');
    await eventually(async () => expect(await countListeners(ground.database)).toBe(2));
    await app.close();
    expect(await ran(ground.database)).toEqual(ONE);
    expect(await ran(ground.database, 'reports')).toEqual(ONE);
  });

  it('have different producers under different tokens', async () => {
    const { Handlers } = twoHandlers();
    @Injectable()
    class ByProperty {
      @InjectPgQueue() readonly queue!: PgQueueProducer;
      @InjectPgQueue('reports') readonly reportsQueue!: PgQueueProducer;
    }
    const imports = [
      ground.typeOrm(),
      PgQueueModule.forRoot(),
      PgQueueModule.forRoot({ name: 'reports', schema: 'reports' }),
    ];
    const app = await ground.boot({ imports, providers: [Handlers, ByProperty] });
    const { queue, reportsQueue } = app.get(Handlers);
    expect(app.get(ByProperty)).toEqual({ queue, reportsQueue });
    expect(queue).toBe(app.get(PgQueueProducer));
    expect(reportsQueue).toBe(app.get(getPgQueueToken(PgQueueProducer, 'reports')));
    expect(reportsQueue).not.toBe(queue);
    expect(getPgQueueToken(PgQueueProducer)).toBe(PgQueueProducer);
    expect(getPgQueueToken(PgQueueProducer, 'default')).toBe(PgQueueProducer);
  });

  it('need a queue for each handler: the start fails and names the one that is missing', async () => {
    @Injectable()
    class Handlers {
      @Entrypoint('work', { queue: 'report' })
      work() {}
    }
    const imports = [
      ground.typeOrm(),
      PgQueueModule.forRoot(),
      PgQueueModule.forRoot({ name: 'reports', schema: 'reports' }),
    ];
    await expect(ground.boot({ imports, providers: [Handlers] })).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_ENTRYPOINT',
      message:
        `The handler Handlers.work (in RootTestModule) is for the queue 'report', which no PgQueueModule has; ` +
        `there is 'default', 'reports'`,
    });
  });

  it('stop in parallel', async () => {
    const bothDrain = deferred();
    let draining = 0;
    const begun = [deferred(), deferred()];
    const untilBothDrain = async (index: number, signal: AbortSignal) => {
      begun[index]!.resolve();
      signal.addEventListener('abort', () => {
        if (++draining === 2) bothDrain.resolve();
      });
      await bothDrain.promise; // a queue that waited for the other would never get here
    };
    @Injectable()
    class Handlers {
      @Entrypoint('work')
      onMain(_: Job, { signal }: { signal: AbortSignal }) {
        return untilBothDrain(0, signal);
      }
      @Entrypoint('work', { queue: 'reports' })
      onReports(_: Job, { signal }: { signal: AbortSignal }) {
        return untilBothDrain(1, signal);
      }
    }
    const worker = { shutdownTimeout: 0 };
    const second = PgQueueModule.forRoot({ name: 'reports', schema: 'reports', worker });
    const app = await ground.start({ imports: [second], providers: [Handlers] }, { worker });
    await app.queue.enqueue('work');
    await app.app.get<PgQueueProducer>(getPgQueueToken(PgQueueProducer, 'reports')).enqueue('work');
    await Promise.all(begun.map(({ promise }) => promise));
    await app.close();
    expect(await ran(ground.database)).toEqual(ONE);
    expect(await ran(ground.database, 'reports')).toEqual(ONE);
  });
});

describe('two queues in one schema of one database', () => {
  const ground = useGround();

  it.each(['the same DataSource', 'DataSources of their own'])('are refused, on %s', async (on) => {
    const own = on === 'the same DataSource' ? {} : { dataSource: { type: 'postgres', url: ground.url } as const };
    const imports = [ground.typeOrm(), PgQueueModule.forRoot(own), PgQueueModule.forRoot({ ...own, name: 'reports' })];
    await expect(ground.boot({ imports })).rejects.toMatchObject({
      code: 'PGQUEUE_SHARED_SCHEMA',
      message: expect.stringMatching(/^The queues '(default|reports)' and '(default|reports)' are both in the schema/),
    });
  });
});

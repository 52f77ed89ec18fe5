import { Injectable } from '@nestjs/common';
import { Entrypoint, PgQueueModule, type WorkerOptions } from 'nestjs-pgqueue';
import { countListeners, deferred, eventually } from '../support/index.js';
import { useGround } from './support/index.js';

describe('the option worker', () => {
  const ground = useGround();

  const twoHandlers = () => {
    const heard = { mail: deferred(), report: deferred() };
    @Injectable()
    class Handlers {
      @Entrypoint('mail')
      mail() {
        heard.mail.resolve();
      }
      @Entrypoint('report')
      report() {
        heard.report.resolve();
      }
    }
    return { Handlers, heard };
  };

  const connections = () =>
    ground.database.query<{ query: string }>(
      `select query from pg_stat_activity where datname = current_database() and application_name <> 'test'`,
    );
  const listeners = () => countListeners(ground.database);

  it('true runs everything that has a handler, on connections of its own', async () => {
    const { Handlers, heard } = twoHandlers();
    const { queue, dataSource } = await ground.start({ providers: [Handlers] }, { worker: true });
    await queue.enqueueMany([{ entrypoint: 'mail' }, { entrypoint: 'report' }]);
    await Promise.all([heard.mail.promise, heard.report.promise]);
    await eventually(async () => expect(await listeners()).toBe(1));
    expect((await connections()).length).toBeGreaterThan(poolSize(dataSource));
  });

  it('false only produces: no LISTEN, no connection beside those of TypeORM', async () => {
    const { Handlers } = twoHandlers();
    const { queue, dataSource, close } = await ground.start({ providers: [Handlers] }, { worker: false });
    await queue.enqueueMany([{ entrypoint: 'mail' }, { entrypoint: 'report' }]);
    expect(await listeners()).toBe(0);
    expect((await connections()).length).toBe(poolSize(dataSource));
    await close();
    expect(await ground.queued()).toEqual(['mail', 'report']);
  });

  it('runs nothing, and connects to nothing, where there is no handler', async () => {
    const { queue, dataSource } = await ground.start();
    await queue.enqueue('mail');
    expect((await connections()).length).toBe(poolSize(dataSource));
    expect(await ground.queued()).toEqual(['mail']);
  });

  it('entrypoints: runs only these, and leaves the rest to others', async () => {
    const { Handlers, heard } = twoHandlers();
    const options = { worker: { entrypoints: ['report'], concurrency: 1 } };
    const { queue, close } = await ground.start({ providers: [Handlers] }, options);
    await queue.enqueueMany([{ entrypoint: 'mail', priority: 9 }, { entrypoint: 'report' }]);
    await heard.report.promise;
    await close();
    expect(await ground.log()).toEqual([{ entrypoint: 'report', attempt: 1, status: 'successful' }]);
    expect(await ground.queued()).toEqual(['mail']);
  });

  it('entrypoints: [] runs nothing', async () => {
    const { Handlers } = twoHandlers();
    const { queue, dataSource } = await ground.start({ providers: [Handlers] }, { worker: { entrypoints: [] } });
    await queue.enqueue('mail');
    expect((await connections()).length).toBe(poolSize(dataSource));
  });

  it('entrypoints: a name without a handler fails the start, and is told from those that have one', async () => {
    const { Handlers } = twoHandlers();
    const start = ground.start({ providers: [Handlers] }, { worker: { entrypoints: ['mail', 'reprot'] } });
    await expect(start).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_OPTION',
      message: 'PgQueueModule.worker.entrypoints is "reprot"; expected names that have a handler: mail, report',
    });
  });

  it('jobs of names that no worker handles stay queued, whatever their priority', async () => {
    const { Handlers, heard } = twoHandlers();
    const { queue, close } = await ground.start({ providers: [Handlers] }, { worker: { concurrency: 1 } });
    await queue.enqueueMany(Array.from({ length: 50 }, () => ({ entrypoint: 'unknown', priority: 9 })));
    await queue.enqueue('mail');
    await heard.mail.promise;
    await close();
    expect(await ground.queued()).toEqual(Array.from({ length: 50 }, () => 'unknown'));
    expect(await ground.database.query('select from pgqueue.job where attempt > 0')).toEqual([]);
  });
});

describe('a value of the option worker that can not work', () => {
  const ground = useGround({ database: false });

  it.each<[WorkerOptions, string]>([
    [{ concurrency: 0 }, 'worker.concurrency is 0'],
    [{ concurrency: Number.NaN }, 'worker.concurrency is NaN'],
    [{ pollInterval: 1.5 }, 'worker.pollInterval is 1.5'],
    [{ entrypoints: [''] }, 'worker.entrypoints[0] is ""'],
    [{ entrypoints: 'mail' } as never, 'worker.entrypoints is "mail"'],
    [{ concurency: 5 } as never, 'Did you mean concurrency?'],
    [7 as never, 'worker is 7'],
  ])('%p fails the start, naming what is wrong', async (worker, message) => {
    const start = ground.boot({ imports: [PgQueueModule.forRoot({ worker })] });
    await expect(start).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_OPTION',
      message: expect.stringContaining(message),
    });
  });
});

const poolSize = (dataSource: { driver: unknown }) =>
  (dataSource.driver as { master: { totalCount: number } }).master.totalCount;

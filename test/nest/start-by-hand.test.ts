import { Injectable } from '@nestjs/common';
import { Entrypoint, PgQueueWorker, type WorkerOptions } from 'nestjs-pgqueue';
import { countListeners, deferred, eventually } from '../support/index.js';
import { onWorker, useGround, workerStops } from './support/index.js';

describe('PgQueueWorker', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  const runs: string[] = [];
  let ran = deferred();
  beforeEach(() => {
    runs.length = 0;
    ran = deferred();
  });
  @Injectable()
  class Handlers {
    @Entrypoint('work')
    work() {
      runs.push('work');
      ran.resolve();
    }
  }

  const boot = async (given: WorkerOptions = {}) => {
    const { app, queue } = await ground.start({ providers: [Handlers] }, { worker: { autoStart: false, ...given } });
    return { app, queue, worker: app.get(PgQueueWorker) };
  };

  /** Each start, and each stop that has something to stop. */
  const watch = () => {
    const seen: string[] = [];
    onWorker('start', () => seen.push('start'));
    onWorker('stop', () => seen.push('stop'));
    return seen;
  };

  const own = async () =>
    (await ground.database.query(`select from pg_stat_activity where datname = current_database()`)).length;

  it('with autoStart: false runs nothing, and opens no connection, before start()', async () => {
    const seen = watch();
    const { queue, worker } = await boot();
    const before = await own();
    await queue.enqueue('work');
    expect(seen).toEqual([]);
    expect(await own()).toBe(before);
    expect(await ground.queued()).toEqual(['work']);
    await worker.start();
    await ran.promise;
    expect(seen).toEqual(['start']);
  });

  it('is started once and stopped once, however often it is told to', async () => {
    const seen = watch();
    const { worker } = await boot();
    await worker.stop();
    await Promise.all([worker.start(), worker.start()]);
    await worker.start();
    await eventually(async () => expect(await countListeners(ground.database)).toBe(1));
    await Promise.all([worker.stop(), worker.stop()]);
    await worker.stop();
    expect(seen).toEqual(['start', 'stop']);
    await eventually(async () => expect(await countListeners(ground.database)).toBe(0));
  });

  it('starts again after it was stopped, with connections of its own again', async () => {
    const { queue, worker } = await boot();
    for (const round of [1, 2, 3]) {
      ran = deferred();
      await worker.start();
      await queue.enqueue('work');
      await ran.promise;
      await worker.stop();
      expect(await ground.log()).toHaveLength(round);
    }
  });

  it('does what it was told last, also when it is told all at once', async () => {
    const { queue, worker } = await boot();
    await Promise.all([worker.start(), worker.stop()]);
    await Promise.all([worker.stop(), worker.start(), worker.stop()]);
    await queue.enqueue('work');
    await Promise.all([worker.start(), worker.stop(), worker.start()]);
    await ran.promise;
    await Promise.all([worker.stop(), worker.start(), worker.stop()]);
    expect(await ground.log()).toHaveLength(1);
    await eventually(async () => expect(await countListeners(ground.database)).toBe(0));
  });

  it('that is started while it stops begins when the running handlers have ended', async () => {
    const [begun, end] = [deferred(), deferred()];
    const told: string[] = [];
    @Injectable()
    class Slow {
      @Entrypoint('slow')
      async slow() {
        begun.resolve();
        await end.promise;
        told.push('ended');
      }
    }
    const { app, queue } = await ground.start({ providers: [Slow] });
    const worker = app.get(PgQueueWorker);
    await queue.enqueue('slow');
    await begun.promise;
    onWorker('start', () => told.push('started'));
    const stops = workerStops();
    const [stopped, started] = [worker.stop(), worker.start()];
    await stops;
    end.resolve();
    await Promise.all([stopped, started]);
    expect(told).toEqual(['ended', 'started']);
    expect(await ground.log()).toEqual([{ entrypoint: 'slow', attempt: 1, status: 'successful' }]);
  });

  it('is started with the application by default, and may be stopped before it', async () => {
    const seen = watch();
    const { app, worker } = await boot({ autoStart: true });
    await worker.start();
    await worker.stop();
    await app.close();
    expect(seen).toEqual(['start', 'stop']);
  });

  it('can not be started after app.close(), nor while the application closes', async () => {
    const { app, worker } = await boot();
    await worker.start();
    const [stopped, closed, started] = [worker.stop(), app.close(), worker.start()];
    await expect(started).rejects.toMatchObject({ code: 'PGQUEUE_CLOSED' });
    await Promise.all([stopped, closed]);
    await expect(worker.start()).rejects.toMatchObject({ code: 'PGQUEUE_CLOSED' });
    await expect(worker.drain()).rejects.toMatchObject({ code: 'PGQUEUE_CLOSED' });
    await worker.stop();
  });
});

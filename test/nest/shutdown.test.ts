import { Injectable } from '@nestjs/common';
import { Entrypoint, PgQueueProducer, type JobContext, type PgQueueError } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround, workerStops } from './support/index.js';

describe('when the application closes', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  it('a running handler ends, and what it enqueues then is stored', async () => {
    const begun = deferred();
    const stops = workerStops();
    @Injectable()
    class Handlers {
      constructor(readonly queue: PgQueueProducer) {}
      @Entrypoint('work')
      async work() {
        begun.resolve();
        await stops;
        await this.queue.enqueue('followup');
      }
    }
    const { queue, close } = await ground.start({ providers: [Handlers] });
    await queue.enqueue('work');
    await begun.promise;
    await close();
    expect(await ground.log()).toEqual([{ entrypoint: 'work', attempt: 1, status: 'successful' }]);
    expect(await ground.queued()).toEqual(['followup']);
  });

  it('hooks enqueue until its last phase', async () => {
    const codes: unknown[] = [];
    @Injectable()
    class Hooks {
      constructor(readonly queue: PgQueueProducer) {}
      async onModuleDestroy() {
        await this.queue.enqueue('destroy');
      }
      async beforeApplicationShutdown() {
        await this.queue.enqueue('before');
      }
    }
    const { queue, close } = await ground.start({ providers: [Hooks] });
    await close();
    await queue.enqueue('late').catch((error: unknown) => codes.push((error as PgQueueError).code));
    await queue
      .enqueueMany([{ entrypoint: 'late' }])
      .catch((error: unknown) => codes.push((error as PgQueueError).code));
    expect(codes).toEqual(['PGQUEUE_CLOSED', 'PGQUEUE_CLOSED']);
    expect(await ground.queued()).toEqual(['destroy', 'before']);
  });

  it('twice, at once and again, it is closed once and nothing fails', async () => {
    const begun = deferred();
    const stops = workerStops();
    @Injectable()
    class Handlers {
      @Entrypoint('work')
      async work() {
        begun.resolve();
        await stops;
      }
    }
    const { queue, close } = await ground.start({ providers: [Handlers] });
    await queue.enqueue('work');
    await begun.promise;
    await Promise.all([close(), close()]);
    await close();
    expect(await ground.log()).toEqual([{ entrypoint: 'work', attempt: 1, status: 'successful' }]);
  });

  it('a handler that is not over after shutdownTimeout is aborted, and its job is queued with its attempt given back', async () => {
    const begun = deferred();
    const reason = deferred<unknown>();
    @Injectable()
    class Handlers {
      @Entrypoint('work')
      async work(_: unknown, { signal }: JobContext) {
        begun.resolve();
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      }
      @Entrypoint('stubborn')
      async ignoreTheSignal(_: unknown, { signal }: JobContext) {
        signal.addEventListener('abort', () => reason.resolve(signal.reason));
        await new Promise(() => undefined);
      }
    }
    const { queue, close } = await ground.start({ providers: [Handlers] }, { worker: { shutdownTimeout: 0 } });
    await queue.enqueueMany([
      { entrypoint: 'stubborn', priority: 1 },
      { entrypoint: 'work', maxAttempts: 1 },
    ]);
    await begun.promise;
    await close();
    expect(await reason.promise).toMatchObject({ code: 'PGQUEUE_WORKER_SHUTDOWN' });
    expect(
      await ground.database.query('select entrypoint, status, attempt, claim_id from pgqueue.job order by id'),
    ).toEqual([
      { entrypoint: 'stubborn', status: 'queued', attempt: 0, claim_id: null },
      { entrypoint: 'work', status: 'queued', attempt: 0, claim_id: null },
    ]);
    expect(await ground.log()).toEqual([]);
    expect(await ground.database.query('select from pgqueue.claim')).toEqual([]);
  });
});

import { Injectable } from '@nestjs/common';
import {
  Entrypoint,
  getPgQueueToken,
  InjectPgQueue,
  type JobContext,
  PgQueueCompletion,
  PgQueueModule,
} from 'nestjs-pgqueue';
import { PgQueueProducer } from '../../../lib/client/producer.js';
import { useGround } from '../../nest/support/index.js';
import { deferred, eventually, spawnWorker, type WorkerProcess } from '../../support/index.js';

describe('the PgQueueCompletion that is injected', () => {
  let waiting: WorkerProcess | undefined;
  afterEach(async () => {
    waiting?.kill('SIGKILL');
    await waiting?.exited;
    waiting = undefined;
  });
  const ground = useGround();
  let began = deferred();
  let go = deferred();
  beforeEach(() => ([began, go] = [deferred(), deferred()]));

  @Injectable()
  class Handlers {
    constructor(readonly completion: PgQueueCompletion) {}
    @Entrypoint('work')
    async work() {
      began.resolve();
      await go.promise;
      return 'done';
    }
    @Entrypoint('stubborn')
    stubborn(_: unknown, { signal }: JobContext) {
      began.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    }
  }

  it('gives results while the worker drains, and says that the queue is closed afterwards', async () => {
    const { app, queue } = await ground.start({ providers: [Handlers] }, { worker: { concurrency: 1 } });
    const { completion } = app.get(Handlers);
    const [runs, waits] = await queue.enqueueMany([{ entrypoint: 'work' }, { entrypoint: 'work' }]);
    await began.promise;
    const told = completion.waitFor(runs!.id);
    const left = completion.waitFor(waits!.id).catch((error: unknown) => error);
    const closed = app.close();
    const late = completion.waitFor(runs!.id);
    go.resolve();
    expect(await Promise.all([told, late])).toEqual([
      { status: 'successful', result: 'done' },
      { status: 'successful', result: 'done' },
    ]);
    expect(await left).toMatchObject({ code: 'PGQUEUE_CLOSED' });
    await closed;
    await expect(completion.waitFor(runs!.id)).rejects.toMatchObject({ code: 'PGQUEUE_CLOSED' });
  });

  it('is told when its job goes back to the queue as the application stops', async () => {
    const { app, queue } = await ground.start({ providers: [Handlers] }, { worker: { shutdownTimeout: 0 } });
    const { id } = await queue.enqueue('stubborn');
    await began.promise;
    const wait = app
      .get(Handlers)
      .completion.waitFor(id)
      .catch((error: unknown) => error);
    await app.close();
    expect(await wait).toMatchObject({ code: 'PGQUEUE_CLOSED' });
  });

  it('waits with worker: false for what another application runs', async () => {
    const { app, queue } = await ground.start({ providers: [Handlers] }, { worker: false });
    const { id } = await queue.enqueue('work');
    const wait = app.get(PgQueueCompletion).waitFor(id);
    await ground.start({ providers: [Handlers] });
    go.resolve();
    expect(await wait).toEqual({ status: 'successful', result: 'done' });
  });

  it('of a named queue is that of InjectPgQueue(name, PgQueueCompletion), and knows the jobs of its queue', async () => {
    @Injectable()
    class Reports {
      constructor(@InjectPgQueue('reports', PgQueueCompletion) readonly completion: PgQueueCompletion) {}
      @Entrypoint('report', { queue: 'reports' })
      report() {
        return 'a report';
      }
    }
    const reports = PgQueueModule.forRoot({ name: 'reports', schema: 'reports' });
    const { app } = await ground.start({ imports: [reports], providers: [Reports] });
    const queue = app.get<PgQueueProducer>(getPgQueueToken(PgQueueProducer, 'reports'));
    const { id } = await queue.enqueue('report');
    const { completion } = app.get(Reports);
    expect(completion).toBe(app.get(getPgQueueToken(PgQueueCompletion, 'reports')));
    expect(await completion.waitFor(id)).toEqual({ status: 'successful', result: 'a report' });
    await expect(app.get(PgQueueCompletion).waitFor(id)).rejects.toMatchObject({ code: 'PGQUEUE_UNKNOWN_JOB' });
  });

  it('leaves nothing open that keeps the process alive, once the application is closed', async () => {
    waiting = spawnWorker('client/completion/waiting.ts', { DATABASE_URL: ground.url, NODE_ENV: 'production' });
    const [, id] = await waiting.waitForLine(/waiting for (\d+)/);
    await eventually(async () =>
      expect(await ground.database.query('select from pgqueue.job where id = $1 and awaited', [id])).toHaveLength(1),
    );
    waiting.kill('SIGTERM');
    await waiting.waitForLine(/closed/);
    const closedAt = performance.now();
    expect(await waiting.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - closedAt).toBeLessThan(1_000);
    await waiting.waitForLine(/PGQUEUE_CLOSED/);
  });
});

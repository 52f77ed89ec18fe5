import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  Entrypoint,
  getPgQueueToken,
  InjectPgQueue,
  PG_QUEUE_OPTIONS,
  PgQueueModule,
  PgQueueProducer,
  PgQueueWorker,
} from 'nestjs-pgqueue';
import { Worker } from '../../lib/claimer/worker.js';
import { deferred, silentLogger } from '../support/index.js';
import { useGround } from './support/index.js';

describe('the PgQueueWorker that is injected', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  let ran = deferred();
  beforeEach(() => (ran = deferred()));
  @Injectable()
  class Handlers {
    @Entrypoint('work')
    work() {
      ran.resolve();
    }
  }

  it('that was asked for too early does not overlook the handlers that are made later', async () => {
    const early = deferred<unknown>();
    @Injectable()
    class Hasty {
      constructor(worker: PgQueueWorker) {
        early.resolve(worker.drain());
      }
    }
    const late = { provide: 'late', useFactory: async () => (await early.promise, new Handlers()) };
    const { queue } = await ground.start({ providers: [Hasty, late] });
    await queue.enqueue('work');
    await ran.promise;
  });

  it('with worker: false refuses to start and to drain, and says what to do; stop() has nothing to do', async () => {
    const { app } = await ground.start({ providers: [Handlers] }, { worker: false });
    const worker = app.get(PgQueueWorker);
    const refusal = { code: 'PGQUEUE_WORKER_DISABLED', message: expect.stringContaining('autoStart: false') };
    await expect(worker.start()).rejects.toMatchObject(refusal);
    await expect(worker.drain()).rejects.toMatchObject(refusal);
    await worker.stop();
  });

  it('of a named queue is that of InjectPgQueue(name, PgQueueWorker), and runs only the jobs of its queue', async () => {
    @Injectable()
    class Reports {
      constructor(@InjectPgQueue('reports', PgQueueWorker) readonly worker: PgQueueWorker) {}
      @Entrypoint('work', { queue: 'reports' })
      work() {}
    }
    const worker = { autoStart: false };
    const reports = PgQueueModule.forRoot({ name: 'reports', schema: 'reports', worker });
    const { app, queue } = await ground.start({ imports: [reports], providers: [Handlers, Reports] }, { worker });
    await queue.enqueue('work');
    const { id } = await app
      .get<PgQueueProducer>(getPgQueueToken(PgQueueProducer, 'reports'))
      .enqueue('work', undefined);
    const own = app.get(Reports).worker;
    expect(own).toBe(app.get(getPgQueueToken(PgQueueWorker, 'reports')));
    expect(own).not.toBe(app.get(PgQueueWorker));
    expect(await own.drain()).toMatchObject([{ id, status: 'successful' }]);
    expect(await ground.queued()).toEqual(['work']);
  });

  it('follows overrideProvider(PG_QUEUE_OPTIONS): the tests of an application can drain what it would start', async () => {
    const starts = jest.spyOn(Worker.prototype, 'start');
    const module = await Test.createTestingModule({
      imports: [ground.typeOrm(), PgQueueModule.forRoot({ worker: { concurrency: 20 } })],
      providers: [Handlers],
    })
      .setLogger(silentLogger)
      .overrideProvider(PG_QUEUE_OPTIONS)
      .useValue({ worker: { autoStart: false } })
      .compile();
    const app = ground.keep(await module.init());
    await app.get(PgQueueProducer).enqueue('work');
    expect(starts).not.toHaveBeenCalled();
    expect(await app.get(PgQueueWorker).drain()).toMatchObject([{ status: 'successful' }]);
  });
});

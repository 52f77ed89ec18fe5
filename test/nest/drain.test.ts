import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  Entrypoint,
  PgQueueModule,
  PgQueueProducer,
  PgQueueWorker,
  type Job,
  type WorkerOptions,
} from 'nestjs-pgqueue';
import { Pulse } from '../../lib/claimer/pulse.js';
import { deferred, eventually, makeStale, onPool, silentLogger, takeAway } from '../support/index.js';
import { useGround } from './support/index.js';

describe('drain()', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  /** An application whose handler `work` is the test's. */
  const boot = async (work: (job: Job, queue: PgQueueProducer) => unknown, given: WorkerOptions = {}) => {
    @Injectable()
    class Handlers {
      constructor(readonly queue: PgQueueProducer) {}
      @Entrypoint('work', { retry: { maxAttempts: 3, delay: 0 } })
      work(job: Job) {
        return work(job, this.queue);
      }
    }
    const { app, queue } = await ground.start({ providers: [Handlers] }, { worker: { autoStart: false, ...given } });
    return { app, queue, worker: app.get(PgQueueWorker) };
  };

  it('runs what is due, what that enqueues, and retries without a delay; what is due later stays', async () => {
    const { queue, worker } = await boot(
      async ({ payload, attempt }, producer) => {
        if (payload === 'flaky' && attempt < 3) throw new TypeError(`not in attempt ${attempt}`);
        if (payload === 'parent') await producer.enqueue('work', 'child');
        if (payload === 'child') await producer.enqueue('work', 'grandchild');
      },
      { concurrency: 1 },
    );
    const [parent, flaky] = await queue.enqueueMany([
      { entrypoint: 'work', payload: 'parent', priority: 2 },
      { entrypoint: 'work', payload: 'flaky', priority: 1 },
      { entrypoint: 'work', payload: 'later', delay: 60_000 },
      { entrypoint: 'unknown' },
    ]);
    const attempts = await worker.drain();
    expect(attempts.slice(0, 2)).toEqual([
      { id: parent?.id, entrypoint: 'work', attempt: 1, status: 'successful' },
      { id: flaky?.id, entrypoint: 'work', attempt: 1, status: 'retried', error: 'TypeError: not in attempt 1' },
    ]);
    expect(attempts.filter(({ id }) => id === flaky?.id).map(({ status }) => status)).toEqual([
      'retried',
      'retried',
      'successful',
    ]);
    expect(attempts).toHaveLength(6);
    expect(await ground.database.query('select payload from pgqueue.job order by id')).toEqual([
      { payload: 'later' },
      { payload: null },
    ]);
  });

  it('returns the last failure, and leaves a retry with a delay for later', async () => {
    @Injectable()
    class Handlers {
      @Entrypoint('once', { retry: { maxAttempts: 1 } })
      @Entrypoint('patient', { retry: { delay: 60_000 } })
      fail({ entrypoint }: Job) {
        throw new Error(`no ${entrypoint}`);
      }
    }
    const { app, queue } = await ground.start({ providers: [Handlers] }, { worker: { autoStart: false } });
    await queue.enqueueMany([{ entrypoint: 'once' }, { entrypoint: 'patient' }]);
    const worker = app.get(PgQueueWorker);
    expect(await worker.drain()).toMatchObject([
      { entrypoint: 'once', attempt: 1, status: 'failed', error: 'Error: no once' },
      { entrypoint: 'patient', attempt: 1, status: 'retried', error: 'Error: no patient' },
    ]);
    expect(await ground.queued()).toEqual(['patient']);
    await ground.database.query(`update pgqueue.job set run_at = now() where status = 'queued'`);
    expect(await worker.drain()).toMatchObject([{ entrypoint: 'patient', attempt: 2, status: 'retried' }]);
  });

  it('runs worker.concurrency jobs at a time, and begins one whenever one ends', async () => {
    const running = new Set<string>();
    const seen: number[] = [];
    const third = deferred();
    const { queue, worker } = await boot(
      async ({ id, payload }) => {
        seen.push(running.add(id).size);
        // Each of the first two is over only when another has begun.
        if (payload === 'third') third.resolve();
        if (payload === 'first') await third.promise;
        running.delete(id);
      },
      { concurrency: 2 },
    );
    await queue.enqueueMany(['first', 'second', 'third', 'fourth'].map((payload) => ({ entrypoint: 'work', payload })));
    expect(await worker.drain()).toHaveLength(4);
    expect(Math.max(...seen)).toBe(2);
  });

  it('of an empty queue returns nothing, and leaves no connection and no timer behind', async () => {
    const { queue, worker } = await boot(() => undefined);
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const connections = () =>
      ground.database.query(`select pid from pg_stat_activity where datname = current_database() order by pid`);
    const before = await connections();
    const round = async () => {
      await queue.enqueue('work');
      expect(await worker.drain()).toHaveLength(1);
      expect(await worker.drain()).toEqual([]);
      await eventually(async () => expect(await connections()).toEqual(before));
      return timers();
    };
    expect(await round()).toBe(await round());
    expect(await ground.database.query('select from pgqueue.claim')).toEqual([]);
  });

  it('shares the jobs with another drain and with a started worker: each runs once', async () => {
    const ran: string[] = [];
    const { queue, worker } = await boot(({ id }) => void ran.push(id), { concurrency: 3 });
    const jobs = await queue.enqueueMany(Array.from({ length: 60 }, () => ({ entrypoint: 'work' })));
    const [one, two] = await Promise.all([worker.drain(), worker.drain(), worker.start()]);
    await worker.drain();
    await worker.stop();
    expect(ran.sort()).toEqual(jobs.map(({ id }) => id).sort());
    expect(new Set([...one, ...two].map(({ id }) => id)).size).toBe(one.length + two.length);
    expect(await ground.log()).toHaveLength(60);
  });

  it('runs what a worker that died has left', async () => {
    const { queue, worker } = await boot(() => undefined);
    const { id } = await queue.enqueue('work');
    await onPool(ground.database).claim(1);
    await makeStale(ground.database);
    jest.spyOn(Pulse.prototype, 'start').mockImplementation(); // it would come late, or just in time
    expect(await worker.drain()).toMatchObject([{ id, status: 'successful' }]);
  });

  it('tells of an attempt whose job was given to another', async () => {
    let runs = 0;
    const { queue, worker } = await boot(async () => {
      if (++runs === 1) await takeAway(ground.database);
    });
    const { id } = await queue.enqueue('work');
    expect((await worker.drain()).sort((one, other) => one.status.localeCompare(other.status))).toMatchObject([
      { id, status: 'lost' },
      { id, status: 'successful' },
    ]);
  });

  it('works before the hooks of the application have run, and in each of them', async () => {
    const drained: string[] = [];
    @Injectable()
    class Handlers {
      constructor(
        readonly queue: PgQueueProducer,
        readonly worker: PgQueueWorker,
      ) {}
      @Entrypoint('work')
      work({ payload }: Job<string>) {
        drained.push(payload);
      }
      async drain(when: string) {
        await this.queue.enqueue('work', when);
        await this.worker.drain();
      }
      onModuleInit() {
        return this.drain('init');
      }
      onApplicationBootstrap() {
        return this.drain('bootstrap');
      }
    }
    const module = await Test.createTestingModule({
      imports: [ground.typeOrm(), PgQueueModule.forRoot({ worker: { autoStart: false } })],
      providers: [Handlers],
    })
      .setLogger(silentLogger)
      .compile();
    ground.keep(module);
    await module.get(Handlers).drain('before');
    await module.init();
    expect(drained).toEqual(['before', 'init', 'bootstrap']);
  });
});

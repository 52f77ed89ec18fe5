import { Injectable, type LoggerService } from '@nestjs/common';
import { Entrypoint, PgQueueModule, PgQueueProducer, type Job, type JobContext } from 'nestjs-pgqueue';
import { deferred, silentLogger } from '../support/index.js';
import { useGround } from './support/index.js';

describe('a handler gets', () => {
  const ground = useGround();

  const called = () => {
    const call = deferred<{ job: Job; context: JobContext }>();
    const release = deferred();
    @Injectable()
    class Handlers {
      @Entrypoint('work')
      work(job: Job, context: JobContext) {
        call.resolve({ job, context });
        return release.promise;
      }
    }
    return { Handlers, call: call.promise, release: release.resolve };
  };

  it('the job as it was enqueued', async () => {
    const { Handlers, call, release } = called();
    const { queue } = await ground.start({ providers: [Handlers] });
    const options = { priority: 7, headers: { trace: 'abc' }, maxAttempts: 3 };
    const { id } = await queue.enqueue('work', { to: ['Ann', null, 'ü😀'] }, options);
    const { job } = await call;
    release();
    const { createdAt, runAt, ...rest } = job;
    expect(rest).toEqual({
      id,
      entrypoint: 'work',
      payload: { to: ['Ann', null, 'ü😀'] },
      attempt: 1,
      maxAttempts: 3,
      priority: 7,
      headers: { trace: 'abc' },
    });
    expect(createdAt).toBeInstanceOf(Date);
    expect(Math.abs(runAt.getTime() - createdAt.getTime())).toBeLessThan(1_000);
  });

  it('the id of its claim, as the tables have it while it runs', async () => {
    const { Handlers, call, release } = called();
    const { queue } = await ground.start({ providers: [Handlers] });
    const { id } = await queue.enqueue('work');
    const { context } = await call;
    const [row] = await ground.database.query<{ claim_id: string; job_ids: string[] }>(
      'select claim_id, job_ids::text[] from pgqueue.job join pgqueue.claim using (claim_id)',
    );
    release();
    expect(row).toEqual({ claim_id: context.claimId, job_ids: [id] });
  });

  it('a signal that aborts when its claim is lost, and what it returns then is not recorded', async () => {
    const { Handlers, call, release } = called();
    const { queue, close } = await ground.start({ providers: [Handlers] }, { worker: { heartbeatTimeout: 200 } });
    const { id } = await queue.enqueue('work');
    const { signal, claimId } = (await call).context;
    expect(signal.aborted).toBe(false);
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    // As a rival does that took it over.
    await ground.database.query(`with gone as (delete from pgqueue.claim)
      update pgqueue.job set claim_id = gen_random_uuid()`);
    await aborted;
    expect(signal.reason).toMatchObject({ code: 'PGQUEUE_CLAIM_LOST', claimId });
    release();
    await close();
    expect(await ground.log()).toEqual([]);
    expect(await ground.database.query('select id, status from pgqueue.job')).toEqual([{ id, status: 'picked' }]);
  });

  it('a logger that writes through that of the application, with the entrypoint as its context', async () => {
    const { Handlers, call, release } = called();
    const log = jest.fn();
    const logger: LoggerService = { ...silentLogger, log };
    const app = await ground.boot(
      { imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Handlers] },
      (builder) => builder.setLogger(logger),
    );
    await app.get(PgQueueProducer).enqueue('work');
    (await call).context.logger.log('half way');
    release();
    expect(log).toHaveBeenCalledWith('half way', 'work');
  });
});

describe('a handler that throws', () => {
  const ground = useGround();

  it('is tried again as defaults.retry says, and otherwise as its own retry, or its job, says', async () => {
    const attempts: string[] = [];
    const all = deferred();
    const fail = ({ entrypoint, attempt, maxAttempts }: Job) => {
      if (attempts.push(`${entrypoint} ${attempt}/${maxAttempts}`) === 6) all.resolve();
      throw new Error(`${entrypoint} fails`);
    };
    @Injectable()
    class Failing {
      @Entrypoint('by_defaults')
      byDefaults(job: Job) {
        fail(job);
      }
      @Entrypoint('by_its_own', { retry: { maxAttempts: 3 } })
      byItsOwn(job: Job) {
        fail(job);
      }
    }
    const defaults = { retry: { maxAttempts: 2, delay: 0, jitter: 0 } };
    const { queue, close } = await ground.start({ providers: [Failing] }, { defaults });
    await queue.enqueue('by_defaults');
    await queue.enqueue('by_its_own');
    await queue.enqueue('by_its_own', undefined, { maxAttempts: 1 });
    await all.promise;
    await close();
    expect(attempts.sort()).toEqual([
      'by_defaults 1/2',
      'by_defaults 2/2',
      'by_its_own 1/1',
      'by_its_own 1/3',
      'by_its_own 2/3',
      'by_its_own 3/3',
    ]);
    const ends = `select entrypoint, status, count(*)::int from pgqueue.job_log group by 1, 2 order by 1, 2`;
    expect(await ground.database.query(ends)).toEqual([
      { entrypoint: 'by_defaults', status: 'failed', count: 1 },
      { entrypoint: 'by_defaults', status: 'retried', count: 1 },
      { entrypoint: 'by_its_own', status: 'failed', count: 2 },
      { entrypoint: 'by_its_own', status: 'retried', count: 2 },
    ]);
    expect(await ground.database.query('select distinct status, claim_id from pgqueue.job')).toEqual([
      { status: 'failed', claim_id: null },
    ]);
  });

  it('keeps the delay of defaults.retry where its own retry does not have one', async () => {
    const begun = deferred();
    @Injectable()
    class Failing {
      @Entrypoint('work', { retry: { maxAttempts: 2 } })
      work() {
        begun.resolve();
        throw new Error('not today');
      }
    }
    const defaults = { retry: { delay: 60_000, jitter: 0 } };
    const { queue, close } = await ground.start({ providers: [Failing] }, { defaults });
    await queue.enqueue('work');
    await begun.promise;
    await close();
    const [row] = await ground.database.query<{ wait: number }>(
      `select extract(epoch from job.run_at - log.ended_at)::float8 as wait from pgqueue.job join pgqueue.job_log log on job.id = job_id`,
    );
    expect(row!.wait).toBeGreaterThan(59);
    expect(row!.wait).toBeLessThan(61);
  });
});

import { Injectable } from '@nestjs/common';
import { Entrypoint, type JobContext } from 'nestjs-pgqueue';
import { blockedBackend, deferred, openSession } from '../support/index.js';
import { useGround, workerStops } from './support/index.js';

describe('when the application closes, its jobs are left to others', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  const rows = () =>
    ground.database.query(`select status, attempt, claim_id from pgqueue.job where status = 'queued' order by id`);
  const UNTOUCHED = { status: 'queued', attempt: 0, claim_id: null };

  it('those that wait at once, while the running one ends', async () => {
    const [begun, end] = [deferred(), deferred()];
    const stops = workerStops();
    @Injectable()
    class Handlers {
      @Entrypoint('work')
      async work() {
        begun.resolve();
        await end.promise;
      }
    }
    const { queue, close } = await ground.start({ providers: [Handlers] }, { worker: { concurrency: 1 } });
    await queue.enqueueMany(Array.from({ length: 10 }, () => ({ entrypoint: 'work' })));
    await begun.promise;
    const closed = close();
    await stops;
    expect(await rows()).toEqual(Array(9).fill(UNTOUCHED));

    const nine = deferred();
    let ran = 0;
    @Injectable()
    class Others {
      @Entrypoint('work')
      work() {
        if (++ran === 9) nine.resolve();
      }
    }
    const other = await ground.start({ providers: [Others] });
    await nine.promise;
    end.resolve();
    await closed;
    await other.close();
    expect(await ground.log()).toEqual(Array(10).fill({ entrypoint: 'work', attempt: 1, status: 'successful' }));
  });

  it('one that it aborts and one that it is just claiming, with their only attempts', async () => {
    const begun = deferred();
    const stops = workerStops();
    @Injectable()
    class Handlers {
      @Entrypoint('work', { retry: { maxAttempts: 1 } })
      async work(_: unknown, { signal }: JobContext) {
        begun.resolve();
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      }
    }
    const options = { worker: { concurrency: 2, shutdownTimeout: 0 } };
    const { queue, close } = await ground.start({ providers: [Handlers] }, options);
    await queue.enqueue('work');
    await begun.promise;
    const session = await openSession(ground.database);
    await session.begin();
    await session.db.query('lock table pgqueue.claim in exclusive mode');
    await queue.enqueue('work');
    await blockedBackend(ground.database, 'claim');
    const closed = close();
    await stops;
    await session.commit();
    await Promise.all([closed, session.end()]);
    expect(await rows()).toEqual([UNTOUCHED, UNTOUCHED]);
    expect(await ground.log()).toEqual([]);
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerObserver } from '../../lib/claimer/worker-event.js';
import { deferred, useWorkerGround } from '../support/index.js';

describe('a worker that has more to do than it claims at once', () => {
  const ground = useWorkerGround();

  it('goes on until nothing is left, and waits for no poll', async () => {
    await ground.queue.add(...Array.from({ length: 3_000 }, () => 'work'));
    await ground.database.query('vacuum analyze pgqueue.job');
    const all = deferred();
    let settled = 0;
    const observe: WorkerObserver = (event) => {
      if (event.type === 'settled' && (settled += event.ids.length) === 3_000) all.resolve();
    };
    const worker = await ground.start({ work: () => undefined }, { notify: false, pollInterval: 60_000, observe });
    await all.promise;
    await worker.stop();
  }, 20_000);
});

describe('a worker that has nothing to do', () => {
  const ground = useWorkerGround();

  it('looks again at the next poll only, whether or not others wait for their time', async () => {
    for (const later of [[], [{ delay: 3_600_000 }]]) {
      await ground.queue.add(...later);
      const worker = await ground.start({ work: () => undefined }, { notify: false, pollInterval: 60_000 });
      await delay(300); // its first look
      await ground.addSilently();
      await delay(500);
      expect(worker.events.filter(({ type }) => type === 'claimed')).toEqual([]);
      await worker.stop();
      await ground.database.query('delete from pgqueue.job');
    }
  });

  it.each([true, false])(
    'asks at most 20 times in a minute, its maintenance included (notify: %p)',
    async (notify) => {
      const worker = await ground.start({ work: () => undefined }, { notify });
      if (notify) await worker.event('listening');
      await delay(2_000);
      const before = worker.statements();
      await delay(30_000);
      expect(worker.statements() - before).toBeLessThanOrEqual(20 / 2);
      await worker.stop();
    },
    60_000,
  );
});

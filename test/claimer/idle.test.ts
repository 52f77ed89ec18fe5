import { setTimeout as delay } from 'node:timers/promises';
import { poolDatabase } from '../../lib/sql/database.js';
import { readOutlook } from '../../lib/sql/promote.js';
import { names, useWorkerGround } from '../support/index.js';

describe('a worker that has nothing to do', () => {
  const ground = useWorkerGround();
  const outlook = () =>
    readOutlook(
      poolDatabase(() => ground.database.pool),
      names,
      ['work'],
    );

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

  it('knows when the next job is due, and that none is', async () => {
    expect(await outlook()).toEqual({ next: undefined, alone: false });
    await ground.queue.add({ delay: 60_000 });
    expect((await outlook()).next).toBeGreaterThan(50_000);
    await ground.database.query('update pgqueue.job set run_at = now()');
    expect((await outlook()).next).toBe(0);
  });
});

import { deferred, eventually, useWorkerGround } from '../support/index.js';

describe('jobs that were claimed ahead of free slots', () => {
  const ground = useWorkerGround();
  const states = async () => {
    const rows = await ground.database.query<{ status: string; attempt: number; count: number }>(
      'select status, attempt, count(*)::int from pgqueue.job group by 1, 2 order by 1',
    );
    return rows.map(({ status, attempt, count }) => `${count} ${status} ${attempt}`);
  };

  it('are not given back while they start one after the other, however long that goes on', async () => {
    const work = () => new Promise((resolve) => setTimeout(resolve, 1));
    const worker = await ground.start({ work }, { concurrency: 10 });
    await worker.event('listening');
    await ground.queue.add(...Array.from({ length: 4_000 }, () => 'work'));
    await eventually(async () => expect(await states()).toEqual([]), { timeout: 20_000 });
    await worker.stop();
    expect(
      Math.max(...worker.events.map((event) => (event.type === 'claimed' ? event.jobs.length : 0))),
    ).toBeGreaterThan(10);
    const outcomes = worker.events.flatMap((event) => (event.type === 'settled' ? event.outcomes : []));
    expect(outcomes).toHaveLength(4_000);
    expect(new Set(outcomes)).toEqual(new Set(['successful']));
  });

  it('are left to other workers when slow ones hold all slots, with their attempts', async () => {
    const end = deferred();
    const worker = await ground.start({ work: () => undefined, slow: () => end.promise }, { concurrency: 2 });
    await worker.event('listening');
    await ground.queue.add(...Array.from({ length: 200 }, () => 'work'));
    await eventually(async () => expect(await states()).toEqual([]));
    await ground.queue.add(...Array.from({ length: 20 }, () => 'slow'));
    await worker.event('settled', ({ outcomes }) => outcomes.includes('released'));
    await eventually(async () => expect(await states()).toEqual(['2 picked 1', '18 queued 0']));
    end.resolve();
    await eventually(async () => expect(await states()).toEqual([]));
    await worker.stop();
  });
});

import type { Job } from '../../lib/domain/job.js';
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

  it('are left to other workers when their handlers keep the event loop for themselves', async () => {
    const block = () => {
      for (const end = performance.now() + 60; performance.now() < end;);
    };
    const worker = await ground.start({ work: () => undefined, slow: block }, { concurrency: 1 });
    await worker.event('listening');
    await ground.queue.add(...Array.from({ length: 200 }, () => 'work'));
    await eventually(async () => expect(await states()).toEqual([]));
    await ground.queue.add(...Array.from({ length: 100 }, () => 'slow'));
    await worker.event('settled', ({ outcomes }) => outcomes.includes('released'));
    await worker.stop();
    expect((await states()).map((each) => each.replace(/^\d+ /, ''))).toEqual(['queued 0']);
  });

  it('are not given back because the process has to wait for a processor', async () => {
    const asleep = new Int32Array(new SharedArrayBuffer(4));
    const ran: string[] = [];
    const work = (job: Job) => void ran.push(job.id);
    const worker = await ground.start({ work }, { concurrency: 2 });
    await worker.event('listening');
    await ground.queue.add(...Array.from({ length: 200 }, () => 'work'));
    await eventually(async () => expect(await states()).toEqual([]));
    const ahead = worker.event('claimed', ({ jobs }) => jobs.length > 200);
    // As if others had it: nothing of this process runs meanwhile, and no time of its own passes.
    void ahead.then(() => Atomics.wait(asleep, 0, 0, 600));
    await ground.queue.add(...Array.from({ length: 1_000 }, () => 'work'));
    await ahead;
    await eventually(async () => expect(await states()).toEqual([]));
    await worker.stop();
    expect(ran).toHaveLength(1_200);
    const outcomes = worker.events.flatMap((event) => (event.type === 'settled' ? event.outcomes : []));
    expect(outcomes).not.toContain('released');
  });
});

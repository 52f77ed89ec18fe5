import { setTimeout as pause } from 'node:timers/promises';
import type { Job } from '../../lib/domain/job.js';
import { deferred, eventually, openSession, useWorkerGround } from '../support/index.js';

describe('while a transaction of a user holds', () => {
  const ground = useWorkerGround();
  const beatOf = async (claimId: string) =>
    (await ground.database.query('select heartbeat_at from pgqueue.claim where claim_id = $1', [claimId]))[0];

  it.each([
    ['the row of a claim', 'select from pgqueue.claim where claim_id = $1 for update'],
    ['the row of a job', 'select from pgqueue.job where claim_id = $1 for update'],
  ])('%s, another claim of the same worker is beaten, and its job settled', async (_, lock) => {
    const ends = { one: deferred(), other: deferred() };
    const work = ({ entrypoint }: Job) => ends[entrypoint as keyof typeof ends].promise;
    const worker = await ground.start({ one: work, other: work }, { heartbeatTimeout: 400 });
    const claims: string[] = [];
    for (const entrypoint of ['one', 'other']) {
      await ground.queue.add(entrypoint);
      const { jobs } = await worker.event('claimed', (event) => event.jobs[0]?.entrypoint === entrypoint);
      claims.push(jobs[0]!.claimId);
    }
    const [held, free] = claims as [string, string];
    const session = await openSession(ground.database);
    await session.begin();
    await session.db.query(lock, [held]);
    const before = await beatOf(free);
    await eventually(async () => expect(await beatOf(free)).not.toEqual(before));
    ends.one.resolve();
    ends.other.resolve();
    await worker.event('settled', ({ ids }) => ids.includes('2'));
    await session.rollback();
    await worker.event('settled', ({ ids }) => ids.includes('1'));
    await eventually(async () => expect(await ground.database.query('select from pgqueue.claim')).toEqual([]));
    expect(await ground.log()).toHaveLength(2);
    expect(worker.events.filter(({ type }) => type === 'error' || type === 'refused')).toEqual([]);
    await session.end();
  });

  it.each([
    ['one entrypoint', ['one']],
    ['several entrypoints', ['one', 'other']],
  ])(
    'a queued job, a worker of %s takes others as they are told of, waits between its looks, and takes that one soon after',
    async (_, entrypoints) => {
      const [held = ''] = await ground.queue.add('one');
      const session = await openSession(ground.database);
      await session.begin();
      await session.db.query('select from pgqueue.job where id = $1 for update', [held]);
      const startedAt = new Map<string, number>();
      const work = ({ id }: Job) => void startedAt.set(id, performance.now());
      const handlers = Object.fromEntries(entrypoints.map((name) => [name, work]));
      const worker = await ground.start(handlers, { pollInterval: 60_000 });
      await worker.event('listening');
      await pause(1_500);
      const before = worker.statements();
      const waits: number[] = [];
      for (let nth = 0; nth < 5; nth++) {
        const added = performance.now();
        const [id = ''] = await ground.queue.add('one');
        waits.push((await eventually(() => startedAt.get(id) ?? false)) - added);
        await pause(110);
      }
      expect(waits.sort((a, b) => a - b)[2]).toBeLessThan(100);
      // A claim or two, a settle and a reap of each, and what follows when it is told of nothing.
      expect(worker.statements() - before).toBeLessThan(100);
      await session.rollback();
      await eventually(() => expect(startedAt.has(held)).toBe(true), { timeout: 2_000 });
      await session.end();
    },
  );
});

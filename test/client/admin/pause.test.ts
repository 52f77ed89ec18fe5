import { deferred } from '../../support/index.js';
import { useAdminGround } from './support.js';

describe('pause() and resume()', () => {
  const ground = useAdminGround();
  const POLL_NEVER = { pollInterval: 60_000 };

  it('tell whether they changed anything', async () => {
    const admin = await ground.admin();
    expect(await admin.resume('work')).toBe(false);
    expect(await admin.pause('work')).toBe(true);
    const [{ pausedAt } = {}] = await admin.counts();
    expect(await admin.pause('work')).toBe(false);
    expect(await admin.counts()).toMatchObject([{ entrypoint: 'work', pausedAt }]);
    expect(await admin.resume('work')).toBe(true);
    expect(await admin.resume('work')).toBe(false);
    expect(await admin.counts()).toEqual([]);
    expect(await admin.pause('work')).toBe(true);
  });

  it('let what runs go on, keep what is queued, run other entrypoints, and wake workers', async () => {
    const admin = await ground.admin();
    const end = deferred();
    const worker = await ground.start({ work: () => end.promise, other: () => undefined }, POLL_NEVER);
    await worker.event('listening');
    const [running = ''] = await ground.queue.add({});
    await worker.event('claimed');
    await admin.pause('work');
    const [kept = '', other = ''] = await ground.queue.add({}, { entrypoint: 'other' });
    await worker.event('settled', ({ ids }) => ids.includes(other));
    end.resolve();
    await worker.event('settled', ({ ids }) => ids.includes(running));
    expect(await ground.statuses()).toEqual({ [kept]: 'queued' });
    await admin.resume('work');
    await worker.event('settled', ({ ids }) => ids.includes(kept));
  });

  it('hold of a name that no worker has, and of one that only looks like SQL', async () => {
    const admin = await ground.admin();
    const name = `x'; drop table pgqueue.job;--`;
    expect(await admin.pause(name)).toBe(true);
    expect(await admin.counts()).toMatchObject([{ entrypoint: name, queued: 0, pausedAt: expect.any(Date) }]);
    expect(await admin.resume(name)).toBe(true);
  });
});

import { FAILED, SUCCESSFUL } from '../../support/index.js';
import { useAdminGround } from './support.js';

describe('statistics', () => {
  const ground = useAdminGround();
  const from = () => new Date(Date.now() - 60_000);

  it('tell of each entrypoint how its attempts have ended, and how long they took', async () => {
    const admin = await ground.admin();
    await ground.queue.add('mail', 'mail', 'work');
    const claim = await ground.queue.claim(3, { entrypoints: ['mail', 'work'] });
    await ground.queue.settle(claim, SUCCESSFUL, claim.ids.slice(0, 1));
    await ground.queue.settle(claim, FAILED, claim.ids.slice(1));
    const [mail, work, ...others] = await admin.statistics({ from: from(), to: new Date(Date.now() + 60_000) });
    expect(others).toEqual([]);
    const none = { retried: 0, exception: 0, canceled: 0, lost: 0 };
    expect(mail).toMatchObject({ entrypoint: 'mail', successful: 1, failed: 1, ...none });
    expect(work).toMatchObject({ entrypoint: 'work', successful: 0, failed: 1, ...none });
    expect(mail?.duration?.p50).toBeGreaterThan(0.9);
    expect(mail?.duration?.max).toBeLessThan(1.1);
  });

  it('are by the steps that are asked for, up to now', async () => {
    const admin = await ground.admin();
    await ground.database.query(`
      insert into pgqueue.statistic (minute, entrypoint, successful, retried, failed, exception, canceled, lost, buckets, bucket_counts)
      select date_trunc('minute', now()) - age * interval '1 minute', 'mail', 1, 0, 0, 0, 0, 0, '{}', '{}'
      from unnest(array[1, 2, 61, 3000]) as age`);
    const entries = await admin.statistics({ from: new Date(Date.now() - 7_200_000), step: 3_600_000 });
    expect(entries.map(({ successful }) => successful)).toEqual([1, 2]);
    expect(entries.map(({ duration }) => duration)).toEqual([undefined, undefined]);
    expect(await admin.statistics({ from: new Date(0), to: new Date(1) })).toEqual([]);
  });

  it.each([
    [{}, 'statistics.from'],
    [{ from: '2026-01-01' }, 'statistics.from'],
    [{ from: new Date(NaN) }, 'statistics.from'],
    [{ from: new Date(2), to: new Date(1) }, 'statistics.from'],
    [{ from: new Date(), to: 5 }, 'statistics.to'],
    [{ from: new Date(0), step: 0 }, 'statistics.step'],
    [{ from: new Date(0), step: 90_000 }, 'statistics.step'],
    [{ from: new Date(0), steps: 60_000 }, 'Did you mean step?'],
  ])('of %j are refused', async (range, message) => {
    const admin = await ground.admin();
    const error: unknown = await admin.statistics(range as never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'PGQUEUE_INVALID_OPTION',
      message: expect.stringContaining(message) as string,
    });
  });
});

import {
  countListeners,
  createOwnServer,
  deferred,
  eventually,
  hasPooler,
  SUCCESSFUL,
  terminateAll,
  terminateListeners,
} from '../../support/index.js';
import { useCompletionGround } from './ground.js';

const TOLD_WITHIN = 2_500;

describe('waitFor in trouble', () => {
  const { ground, complete, noted } = useCompletionGround();
  const add = async () => (await ground.queue.add({}))[0]!;
  const end = async () => ground.queue.settle(await ground.queue.claim(1), SUCCESSFUL);
  const timed = async (work: Promise<unknown>) => {
    const began = performance.now();
    await work;
    return performance.now() - began;
  };

  it('shares one connection that listens among all waits, and opens none before the first', async () => {
    const { completion, listening } = await complete();
    expect(await countListeners(ground.database)).toBe(0);
    for (let round = 0; round < 3; round++) {
      const id = await add();
      const waits = [completion.waitFor(id), completion.waitFor(id)];
      await Promise.all([listening(), noted(id)]);
      await end();
      await Promise.all(waits);
      expect(await countListeners(ground.database)).toBe(1);
    }
  });

  it('listens on listenUrl, when there is one', async () => {
    const proxy = await ground.proxy();
    const { completion, listening } = await complete({ listenUrl: proxy.url });
    const id = await add();
    const wait = completion.waitFor(id);
    await Promise.all([listening(), noted(id)]);
    proxy.breakDown();
    await eventually(async () => expect(await countListeners(ground.database)).toBe(0));
    await end();
    await wait;
  });

  it('looks at all that wait when its connection that listens was terminated', async () => {
    const { completion, listening, troubles } = await complete();
    const id = await add();
    const wait = completion.waitFor(id);
    await Promise.all([listening(), noted(id)]);
    await terminateListeners(ground.database);
    await ground.database.query(
      `with gone as (delete from pgqueue.job)
       insert into pgqueue.job_log (job_id, entrypoint, attempt, status) values ($1, 'work', 1, 'successful')`,
      [id],
    );
    expect(await timed(wait)).toBeLessThan(TOLD_WITHIN);
    expect(troubles.map(({ task }) => task)).toContain('listen');
    const next = await add();
    const another = completion.waitFor(next);
    await Promise.all([listening(2), noted(next)]);
    await end();
    expect(await timed(another)).toBeLessThan(TOLD_WITHIN);
  });

  it('learns of an end within seconds while the connection that listens is half open', async () => {
    const proxy = await ground.proxy();
    const { completion, listening } = await complete({ listenUrl: proxy.url });
    const id = await add();
    const wait = completion.waitFor(id);
    await Promise.all([listening(), noted(id)]);
    proxy.silence();
    await end();
    expect(await timed(wait)).toBeLessThan(5_000);
  });

  it('goes on when all connections were terminated, and when the database was away for a while', async () => {
    const proxy = await ground.proxy();
    const { completion, listening, troubles } = await complete({ url: proxy.url });
    const first = await add();
    const wait = completion.waitFor(first);
    await Promise.all([listening(), noted(first)]);
    await terminateAll(ground.database);
    await end();
    await wait;

    const second = await add();
    const another = completion.waitFor(second);
    await noted(second);
    proxy.breakDown();
    await end();
    const third = completion.waitFor('1234567');
    await expect(completion.waitFor(second, { timeout: 300 })).rejects.toMatchObject({ code: 'PGQUEUE_WAIT_TIMEOUT' });
    expect(troubles.map(({ task }) => task)).toContain('look for ends of jobs');
    proxy.restore();
    expect(await another).toEqual({ status: 'successful' });
    await expect(third).rejects.toMatchObject({ code: 'PGQUEUE_UNKNOWN_JOB' });
  });

  it('rejects with what does not pass by itself', async () => {
    const { completion } = await complete();
    await ground.database.query('alter table pgqueue.job_log rename to elsewhere');
    await expect(completion.waitFor('1')).rejects.toMatchObject({ code: '42P01' });
    await ground.database.query('alter table pgqueue.elsewhere rename to job_log');
    await expect(completion.waitFor('1')).rejects.toMatchObject({ code: 'PGQUEUE_UNKNOWN_JOB' });
  });

  it('takes no longer than its timeout while the application has no connection to spare, and goes on after', async () => {
    const { completion, dataSource } = await complete();
    const id = await add();
    const free = deferred();
    const hogs = Array.from({ length: 10 }, () => dataSource.transaction(() => free.promise));
    const wait = completion.waitFor(id);
    await expect(completion.waitFor(id, { timeout: 300 })).rejects.toMatchObject({ code: 'PGQUEUE_WAIT_TIMEOUT' });
    free.resolve();
    await Promise.all(hogs);
    await noted(id);
    await end();
    await wait;
  });

  it('closes within seconds while the database does not answer, and all that wait are told', async () => {
    const proxy = await ground.proxy();
    const { completion, listening } = await complete({ url: proxy.url });
    const id = await add();
    const wait = completion.waitFor(id).catch((error: unknown) => error);
    await Promise.all([listening(), noted(id)]);
    proxy.stall();
    proxy.silence();
    const another = completion.waitFor(id).catch((error: unknown) => error);
    expect(await timed(completion.close())).toBeLessThan(1_500);
    expect([await wait, await another]).toMatchObject([{ code: 'PGQUEUE_CLOSED' }, { code: 'PGQUEUE_CLOSED' }]);
    await expect(completion.waitFor(id)).rejects.toMatchObject({ code: 'PGQUEUE_CLOSED' });
    proxy.breakDown();
  });
});

const describeWithPooler = hasPooler() || process.env['CI'] ? describe : describe.skip;

describeWithPooler('waitFor through PgBouncer in transaction mode', () => {
  const { ground, complete, noted } = useCompletionGround();

  it.each([[{}], [{ listenUrl: true }], [{ notify: false }]])('with %p learns of an end', async (given) => {
    const url = await ground.pooler('transaction');
    const { listenUrl, ...options } = { listenUrl: false, ...given };
    const { completion, troubles, listening } = await complete({
      url,
      ...options,
      ...(listenUrl ? { listenUrl: ground.database.url } : {}),
    });
    const [id = ''] = await ground.queue.add({});
    const wait = completion.waitFor(id, { timeout: 10_000 });
    if (listenUrl) await Promise.all([listening(), noted(id)]);
    await ground.start();
    expect(await wait).toEqual({ status: 'successful' });
    expect(troubles.every(({ error }) => (error as { code?: string }).code === 'PGQUEUE_DEAF')).toBe(true);
  });
});

describe('waitFor whose server is restarted', () => {
  const { ground, complete, noted } = useCompletionGround(createOwnServer);

  it('goes on when it is back', async () => {
    const server = ground.database as Awaited<ReturnType<typeof createOwnServer>>;
    const { completion, listening } = await complete();
    const [id = ''] = await ground.queue.add({});
    const wait = completion.waitFor(id);
    await Promise.all([listening(), noted(id)]);
    await server.stopServer();
    await server.startServer();
    await ground.start();
    expect(await wait).toEqual({ status: 'successful' });
  });
});

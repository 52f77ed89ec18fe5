import { getEventListeners } from 'node:events';
import { deferred, eventually, openSession, SUCCESSFUL } from '../../support/index.js';
import { useCompletionGround } from './ground.js';

const MANY = 1_000;
const NOBODY = '999999';
// Less than the look that is for what notifications can't tell.
const TOLD_WITHIN = 2_500;
const SAFETY_WITHIN = 5_000;

describe('waitFor', () => {
  const { ground, complete, noted } = useCompletionGround();
  const add = async (count = 1) => ground.queue.add(...Array.from({ length: count }, () => ({})));
  const end = async (count = 1) => {
    const claim = await ground.queue.claim(count);
    expect(claim.ids).toHaveLength(count);
    expect((await ground.queue.settle(claim, SUCCESSFUL)).sort()).toEqual([...claim.ids].sort());
  };
  const timed = async <T>(work: Promise<T>) => {
    const began = performance.now();
    return { result: await work, took: performance.now() - began };
  };

  it('refuses what is no id of a job, before any SQL', async () => {
    const { completion, looks } = await complete();
    const ids = [5, '', '-1', '1.5', '01', ' 1', '1e3', 'x', '9223372036854775808', undefined, null, {}];
    for (const id of ids) {
      const refusal = { code: 'PGQUEUE_INVALID_OPTION', option: 'waitFor.id', value: id };
      await expect(completion.waitFor(id as string)).rejects.toMatchObject(refusal);
    }
    expect(looks).toEqual([]);
  });

  it('refuses options that can not work, before any SQL', async () => {
    const { completion, looks } = await complete();
    const timeouts = [0, -1, NaN, '5', Infinity, 1.5].map((timeout) => ({ timeout }));
    for (const options of [...timeouts, { signal: new AbortController() }, { signal: null }, { timeOut: 5 }]) {
      const refusal = { code: 'PGQUEUE_INVALID_OPTION', option: `waitFor.${Object.keys(options)[0]}` };
      await expect(completion.waitFor('1', options as object)).rejects.toMatchObject(refusal);
    }
    await expect(completion.waitFor('1', null as never)).rejects.toMatchObject({ option: 'waitFor' });
    expect(looks).toEqual([]);
  });

  it('rejects at once with PGQUEUE_UNKNOWN_JOB for an id that nobody knows', async () => {
    const { completion } = await complete();
    await expect(completion.waitFor('77')).rejects.toMatchObject({ code: 'PGQUEUE_UNKNOWN_JOB', jobId: '77' });
  });

  it('inside the transaction that has enqueued the job is told to wait after the commit', async () => {
    const { queue, dataSource } = await ground.producer();
    const { completion } = await complete();
    const id = await dataSource.transaction(async (manager) => {
      const { id } = await queue.enqueue('work', undefined, { manager });
      await expect(completion.waitFor(id)).rejects.toThrow(/not committed. Wait after the commit/);
      return id;
    });
    const wait = completion.waitFor(id);
    await noted(id);
    await end();
    expect(await wait).toEqual({ status: 'successful' });
  });

  it('rejects within seconds when the job is deleted by hand, without a word in the log', async () => {
    const { completion, listening } = await complete();
    const [id = ''] = await add();
    const wait = timed(completion.waitFor(id).catch((error: unknown) => error));
    await Promise.all([listening(), noted(id)]);
    await ground.database.query('delete from pgqueue.job');
    const { result, took } = await wait;
    expect(result).toMatchObject({ code: 'PGQUEUE_UNKNOWN_JOB' });
    expect(took).toBeLessThan(SAFETY_WITHIN);
  });

  it('rejects with PGQUEUE_WAIT_TIMEOUT when the timeout is over, and another wait goes on', async () => {
    const { completion } = await complete();
    const [id = ''] = await add();
    const patient = completion.waitFor(id);
    await expect(completion.waitFor(id, { timeout: 1 })).rejects.toMatchObject({
      code: 'PGQUEUE_WAIT_TIMEOUT',
      jobId: id,
      timeout: 1,
    });
    await noted(id);
    await end();
    expect(await patient).toEqual({ status: 'successful' });
  });

  it('rejects with the reason of its signal, before any SQL when that was aborted before', async () => {
    const { completion, looks } = await complete();
    const reason = new Error('the client is gone');
    await expect(completion.waitFor('1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(looks).toEqual([]);
    const [id = ''] = await add();
    const controller = new AbortController();
    const wait = completion.waitFor(id, { signal: controller.signal });
    await noted(id);
    controller.abort(reason);
    await expect(wait).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('rejects all waits of one signal when that is aborted', async () => {
    const { completion } = await complete();
    const controller = new AbortController();
    const ids = await add(20);
    const waits = ids.map((id) =>
      completion.waitFor(id, { signal: controller.signal }).catch((error: unknown) => error),
    );
    await noted(ids.at(-1)!);
    const reason = new Error('enough');
    controller.abort(reason);
    expect(new Set(await Promise.all(waits))).toEqual(new Set([reason]));
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('hears of the end of a job without a look at others', async () => {
    const { completion, looks, listening } = await complete();
    const ids = await add(MANY);
    const waits = ids.map((id) => completion.waitFor(id));
    await listening();
    await noted(ids.at(-1)!);
    await eventually(() => expect(looks.slice(1).reduce((sum, size) => sum + size, 0)).toBeGreaterThanOrEqual(MANY));
    await completion.waitFor(NOBODY).catch(() => undefined); // the look that was under way is over
    expect(looks.length).toBeLessThan(8);
    looks.length = 0;
    const { took } = await timed(Promise.all([end(), waits[0]]));
    expect(took).toBeLessThan(TOLD_WITHIN);
    expect(looks.filter((size) => size < MANY)).toEqual([1]);
    await end(MANY - 1);
    expect(new Set((await Promise.all(waits)).map(({ status }) => status))).toEqual(new Set(['successful']));
  });

  it(`of ${MANY} jobs that end while their waits begin misses none, and needs no look for what is not told`, async () => {
    const { completion, listening } = await complete();
    const warm = completion.waitFor((await add())[0]!);
    await listening();
    await ground.start({ work: () => undefined }, { concurrency: 50 });
    await warm;
    const waits: Promise<number>[] = [];
    for (let batch = 0; batch < 20; batch++) {
      const ids = await add(MANY / 20);
      waits.push(...ids.map(async (id) => (await timed(completion.waitFor(id))).took));
    }
    expect(Math.max(...(await Promise.all(waits)))).toBeLessThan(TOLD_WITHIN);
  });

  it('without notifications looks at all that wait in one statement, a few times a second', async () => {
    const { completion, looks } = await complete({ notify: false });
    const ids = await add(MANY);
    const waits = ids.map((id) => completion.waitFor(id));
    const half = MANY / 2;
    await eventually(() => expect(looks.filter((size) => size === MANY).length).toBeGreaterThanOrEqual(4));
    expect(looks.length).toBeLessThan(12);
    const began = performance.now();
    looks.length = 0;
    await eventually(() => expect(looks).toEqual([MANY, MANY]));
    expect(performance.now() - began).toBeGreaterThan(400);
    await end(half);
    await Promise.all(waits.slice(0, half));
    await end(half);
    await Promise.all(waits);
  });

  it('waits that began one after the other are looked at together', async () => {
    const { completion, looks } = await complete({ notify: false });
    const ids = await add(20);
    const waits: Promise<unknown>[] = [];
    for (const id of ids) {
      waits.push(completion.waitFor(id));
      await completion.waitFor(NOBODY).catch(() => undefined);
    }
    await eventually(() => expect(looks.slice(-2)).toEqual([20, 20]));
    await end(20);
    await Promise.all(waits);
  });

  it('is not held up by a job that somebody has locked, and learns of its end all the same', async () => {
    const { completion, listening } = await complete();
    const [locked = '', free = ''] = await add(2);
    const claim = await ground.queue.claim(2);
    const session = await openSession(ground.database);
    await session.begin();
    await session.db.query('select from pgqueue.job where id = $1 for update', [locked]);
    const waits = [completion.waitFor(locked), completion.waitFor(free)];
    await Promise.all([listening(), noted(free)]);
    await ground.queue.settle(claim, SUCCESSFUL, [free]);
    expect(await waits[1]).toEqual({ status: 'successful' });
    await session.rollback();
    expect((await timed(noted(locked))).took).toBeLessThan(TOLD_WITHIN);
    await ground.queue.settle(claim, SUCCESSFUL, [locked]);
    const { took } = await timed(waits[0]!);
    expect(took).toBeLessThan(TOLD_WITHIN);
    await session.end();
  });

  it('learns of an end that was written, but not committed, when it began', async () => {
    const { completion, listening } = await complete();
    const [id = ''] = await add();
    const claim = await ground.queue.claim(1);
    const session = await openSession(ground.database);
    await session.begin();
    await session.db.query('delete from pgqueue.job');
    await session.db.query(
      `insert into pgqueue.job_log (job_id, entrypoint, attempt, status, claim_id) values ($1, 'work', 1, 'successful', $2)`,
      [id, claim.claimId],
    );
    const wait = completion.waitFor(id);
    await listening();
    await session.commit();
    const { result, took } = await timed(wait);
    expect(result).toEqual({ status: 'successful' });
    expect(took).toBeLessThan(TOLD_WITHIN);
    await session.end();
  });

  it('thousands of times leaves no listener, timer or waiter behind', async () => {
    const { completion, listening } = await complete();
    const { signal } = new AbortController();
    const warned = jest.spyOn(process, 'emitWarning');
    const first = completion.waitFor((await add())[0]!);
    await listening();
    await end();
    await first;
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const before = timers();
    for (let round = 0; round < 5; round++) {
      const ids = await add(MANY);
      const waits = ids.map((id) => completion.waitFor(id, { timeout: 60_000, signal }));
      await eventually(async () => {
        const all = await ground.database.query('select from pgqueue.job where awaited');
        expect(all).toHaveLength(MANY);
      });
      await end(MANY);
      await Promise.all(waits);
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
    const { watched, loop } = (completion as unknown as { watch: { watched: Map<string, unknown>; loop: unknown } })
      .watch;
    expect(watched.size).toBe(0);
    await eventually(() => expect(loop).toBeUndefined());
    expect(timers() - before).toBeLessThan(10);
  });

  it('that begins while an answer is under way is not given what was known before', async () => {
    const { completion, looks } = await complete();
    const blocked = deferred();
    const { watch } = completion as unknown as { watch: { context: { db: { query: unknown } } } };
    const { db } = watch.context;
    const query = db.query as (...args: unknown[]) => Promise<unknown>;
    db.query = async (...args: unknown[]) => {
      const rows = await query(...args);
      await blocked.promise;
      return rows;
    };
    const early = completion.waitFor('1').catch((error: unknown) => error);
    await eventually(() => expect(looks).toEqual([1]));
    await eventually(async () =>
      expect(
        await ground.database.query(
          `select from pg_stat_activity where state = 'idle' and query like '%with wanted as materialized (select unnest%'
           and datname = current_database()`,
        ),
      ).toHaveLength(1),
    );
    const [id] = await add();
    expect(id).toBe('1');
    const late = completion.waitFor('1');
    blocked.resolve();
    expect(await early).toMatchObject({ code: 'PGQUEUE_UNKNOWN_JOB' });
    await noted('1');
    await end();
    expect(await late).toEqual({ status: 'successful' });
  });
});

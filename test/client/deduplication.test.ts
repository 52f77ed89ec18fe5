import { type ConflictPolicy, DuplicateJobError, type JobInput } from 'nestjs-pgqueue';
import { makeStale, SUCCESSFUL, useWorkerGround, type TestApp } from '../support/index.js';

const KEY = { dedupeKey: 'a' };
const HOUR = 3_600_000;

describe('a dedupeKey', () => {
  const ground = useWorkerGround();
  let app: TestApp;
  beforeEach(async () => (app = await ground.producer()));

  const enqueue = (payload: unknown, onConflict?: ConflictPolicy, options = {}) =>
    app.queue.enqueue('work', payload, { ...KEY, onConflict, ...options });
  const enqueueMany = (...jobs: Omit<JobInput, 'entrypoint'>[]) =>
    app.queue.enqueueMany(jobs.map((job) => ({ entrypoint: 'work', ...job })));
  const jobs = (columns = 'payload') => ground.database.query(`select ${columns} from pgqueue.job order by id`);
  const job = (id: string) => ({ id, duplicate: false });
  const duplicate = (id: string) => ({ id, duplicate: true });

  it.each([undefined, 'skip'] as const)('that is taken gives the job that has it, with %p', async (onConflict) => {
    const first = await enqueue(1, onConflict);
    expect(await enqueue(2, onConflict, { priority: 5 })).toEqual(duplicate(first.id));
    expect(await jobs('payload, priority')).toEqual([{ payload: 1, priority: 0 }]);
  });

  it('that is taken raises a typed error with the job that has it', async () => {
    const { id } = await enqueue(1, 'raise');
    const error: unknown = await enqueue(2, 'raise').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DuplicateJobError);
    expect(error).toMatchObject({ code: 'PGQUEUE_DUPLICATE_JOB', id, entrypoint: 'work', dedupeKey: 'a' });
    expect(await jobs()).toEqual([{ payload: 1 }]);
  });

  it('that is taken by a queued job replaces all that it does', async () => {
    const { id } = await enqueue(1, 'replace', { headers: { a: 1 }, priority: 1, delay: HOUR, maxAttempts: 2 });
    expect(await enqueue(2, 'replace', { headers: { b: 1 }, priority: 2, maxAttempts: 3 })).toEqual({
      id,
      duplicate: true,
      replaced: true,
    });
    const columns = 'payload, headers, priority, max_attempts, attempt, wait, run_at <= clock_timestamp() as due';
    expect(await jobs(columns)).toEqual([
      { payload: 2, headers: { b: 1 }, priority: 2, max_attempts: 3, attempt: 0, wait: 'ready', due: true },
    ]);
    await enqueue(undefined, 'replace', { delay: HOUR });
    expect(await jobs(columns)).toEqual([
      { payload: null, headers: null, priority: 0, max_attempts: null, attempt: 0, wait: 'later', due: false },
    ]);
  });

  it('of a job that runs replaces nothing', async () => {
    const { id } = await enqueue(1);
    await ground.queue.claim(1);
    expect(await enqueue(2, 'replace')).toEqual({ id, duplicate: true, replaced: false });
    expect(await enqueue(2)).toEqual(duplicate(id));
    await expect(enqueue(2, 'raise')).rejects.toMatchObject({ id });
    expect(await jobs('payload, status, attempt')).toEqual([{ payload: 1, status: 'picked', attempt: 1 }]);
  });

  it('is free again when its job has succeeded, has failed for good, or is deleted', async () => {
    const failed = { type: 'failed', error: { message: 'no', stack: null } } as const;
    for (const end of [SUCCESSFUL, failed]) {
      const { id, duplicate: isDuplicate } = await enqueue(1);
      expect(isDuplicate).toBe(false);
      await ground.queue.settle(await ground.queue.claim(1), end);
      expect((await enqueue(2)).id).not.toBe(id);
      await ground.database.query(`delete from pgqueue.job where status = 'queued'`);
    }
    expect(await jobs('payload, status')).toEqual([{ payload: 1, status: 'failed' }]);
  });

  it('stays taken while its job waits for another attempt, and that attempt starts from 0 when it is replaced', async () => {
    const { id } = await enqueue(1);
    const retried = { type: 'retried', delay: HOUR, error: { message: 'no', stack: null } } as const;
    await ground.queue.settle(await ground.queue.claim(1), retried);
    expect(await enqueue(2)).toEqual(duplicate(id));
    expect(await jobs('attempt, wait')).toEqual([{ attempt: 1, wait: 'later' }]);
    expect(await enqueue(3, 'replace')).toMatchObject({ id, replaced: true });
    expect(await jobs('payload, attempt, wait, max_attempts')).toEqual([
      { payload: 3, attempt: 0, wait: 'ready', max_attempts: null },
    ]);
  });

  it('stays taken when its worker has died', async () => {
    const { id } = await enqueue(1);
    await makeStale(ground.database, await ground.queue.claim(1));
    await ground.queue.dissolve();
    expect(await enqueue(2)).toEqual(duplicate(id));
    expect(await jobs('payload, status')).toEqual([{ payload: 1, status: 'queued' }]);
  });

  it('is taken for its entrypoint only, and is compared byte by byte', async () => {
    const keys = ['a', 'A', 'ä', 'a\u0308', ' a', 'a ', '💥', 'NULL', '{a}', `'"\\`, 'x'.repeat(1_024)];
    for (const dedupeKey of keys) {
      for (const entrypoint of ['work', 'other', 'é'.repeat(256)]) {
        expect(await app.queue.enqueue(entrypoint, 1, { dedupeKey })).toMatchObject({ duplicate: false });
        expect(await app.queue.enqueue(entrypoint, 1, { dedupeKey })).toMatchObject({ duplicate: true });
      }
    }
    expect(await jobs('id')).toHaveLength(3 * keys.length);
  });

  it.each(['', 'x'.repeat(1_025), 'x'.repeat(2_700), 'é'.repeat(513), 'a\0', '\ud83d', 5, null, {}])(
    'is refused before any SQL when it is no usable string: %p',
    async (dedupeKey) => {
      const attempt = app.queue.enqueue('work', 1, { dedupeKey: dedupeKey as string });
      await expect(attempt).rejects.toMatchObject({ code: 'PGQUEUE_INVALID_OPTION', option: 'enqueue.dedupeKey' });
    },
  );

  it.each([
    [{ onConflict: 'skip' }, 'a dedupeKey beside it'],
    [{ ...KEY, onConflict: 'update' }, `'skip', 'raise' or 'replace'`],
  ])('and what to do about it are checked before any SQL: %p', async (options, expected) => {
    await expect(app.queue.enqueue('work', 1, options as object)).rejects.toThrow(expected);
    expect(await jobs()).toEqual([]);
  });

  describe('in one batch', () => {
    it('is taken by the first job, whose duplicates the others are', async () => {
      const [first, plain, second, other, third] = await enqueueMany(
        { payload: 1, ...KEY },
        { payload: 'plain' },
        { payload: 2, ...KEY },
        { payload: 'b', dedupeKey: 'b' },
        { payload: 3, ...KEY },
      );
      expect([first, plain, other].map((each) => each?.duplicate)).toEqual([false, false, false]);
      expect([second, third]).toEqual([duplicate(first!.id), duplicate(first!.id)]);
      const stored = await ground.database.query('select id, payload from pgqueue.job');
      const byId = new Map(stored.map(({ id, payload }) => [id, payload]));
      expect([first, plain, other].map((each) => byId.get(each!.id))).toEqual([1, 'plain', 'b']);
    });

    it('is replaced by later jobs, in their order', async () => {
      const results = await enqueueMany(
        { payload: 1, ...KEY },
        { payload: 2, ...KEY, onConflict: 'replace' },
        { payload: 3, ...KEY },
        { payload: 4, ...KEY, onConflict: 'replace', priority: 3 },
      );
      const { id } = results[0]!;
      const replaced = { id, duplicate: true, replaced: true };
      expect(results).toEqual([job(id), replaced, duplicate(id), replaced]);
      expect(await jobs('payload, priority')).toEqual([{ payload: 4, priority: 3 }]);
    });

    it('raises for a live job, and nothing of the batch is written', async () => {
      const { id } = await enqueue(1);
      const attempt = enqueueMany(
        { payload: 'plain' },
        { dedupeKey: 'b' },
        { ...KEY, payload: 2, onConflict: 'replace' },
        { ...KEY, onConflict: 'raise' },
      );
      await expect(attempt).rejects.toMatchObject({ code: 'PGQUEUE_DUPLICATE_JOB', id });
      expect(await jobs()).toEqual([{ payload: 1 }]);
    });

    it('raises for another job of the batch, which has no id as nothing was written', async () => {
      const error: unknown = await enqueueMany(KEY, { ...KEY, onConflict: 'raise' }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(DuplicateJobError);
      expect(error).toMatchObject({ id: undefined, message: expect.stringContaining('Another job of this call') });
      expect(await jobs()).toEqual([]);
    });

    it('may be one of thousands among thousands of plain jobs', async () => {
      const many = Array.from({ length: 6_000 }, (_, n) => ({
        payload: n,
        ...(n % 3 ? {} : { dedupeKey: `${n % 1_500}` }),
      }));
      const results = await enqueueMany(...many);
      expect(results.filter((each) => each.duplicate)).toHaveLength(1_500);
      const stored = await ground.database.query('select id, payload from pgqueue.job');
      const byId = new Map(stored.map(({ id, payload }) => [id, payload]));
      expect(results.map(({ id }) => byId.get(id))).toEqual(many.map((_, n) => (n % 3 ? n : n % 1_500)));
    });
  });

  describe("in a caller's transaction", () => {
    it.each(['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const)(
      'that is %s raises, writes nothing of the call, and the transaction goes on',
      async (isolation) => {
        await enqueue(1);
        await app.dataSource.transaction(isolation, async (manager) => {
          await app.queue.enqueue('work', 'before', { manager });
          const jobsOfCall = [
            { entrypoint: 'work', payload: 'no' },
            { entrypoint: 'work', ...KEY, onConflict: 'raise' as const },
          ];
          await expect(app.queue.enqueueMany(jobsOfCall, { manager })).rejects.toBeInstanceOf(DuplicateJobError);
          await expect(enqueue(2, 'raise', { manager })).rejects.toBeInstanceOf(DuplicateJobError);
          expect(await enqueue(2, 'skip', { manager })).toMatchObject({ duplicate: true });
          expect(await enqueue(3, 'replace', { manager })).toMatchObject({ replaced: true });
          await app.queue.enqueue('work', 'after', { manager });
        });
        expect(await jobs()).toEqual([{ payload: 3 }, { payload: 'before' }, { payload: 'after' }]);
      },
    );

    it('is free again when that is rolled back', async () => {
      const work = app.dataSource.transaction(async (manager) => {
        await enqueue(1, 'skip', { manager });
        throw new Error('roll back');
      });
      await expect(work).rejects.toThrow('roll back');
      expect(await enqueue(2)).toMatchObject({ duplicate: false });
    });
  });

  it('fails, and does not try for ever, where a trigger lets no job in', async () => {
    await ground.database.query(`
      create function public.drop_it() returns trigger language plpgsql as 'begin return null; end';
      create trigger drop_it before insert on pgqueue.job for each row execute function public.drop_it()`);
    const { queue } = await ground.producer();
    await expect(queue.enqueue('work', 1, { dedupeKey: 'key' })).rejects.toThrow('was neither written nor found');
  });
});

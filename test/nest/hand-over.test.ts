import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Entrypoint, PgQueueAdmin, PgQueueWorker, type EnqueueOptions, type Job } from 'nestjs-pgqueue';
import { deferred, eventually, openSession, type TestApp } from '../support/index.js';
import { RECORD_INSERTS, useGround } from './support/index.js';

const BLOCKED = `
  select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

// Of TypeORM's pool.
const POOL_SIZE = 10;

// It looks when it is told to, and beats once a second.
const options = { worker: { pollInterval: 60_000, heartbeatTimeout: 4_000 } };

describe('a job that is enqueued where a worker has nothing to do', () => {
  const ground = useGround();
  const storage = new AsyncLocalStorage<string>();
  let app: TestApp;
  let handle: (job: Job) => unknown;
  let quick: (job: Job) => unknown;

  @Injectable()
  class Handlers {
    @Entrypoint('work')
    work(job: Job) {
      return handle(job);
    }
    @Entrypoint('quick')
    quick(job: Job) {
      return quick(job);
    }
  }

  beforeEach(async () => {
    handle = () => undefined;
    quick = () => undefined;
    await ground.database.query(RECORD_INSERTS);
    app = await ground.start({ providers: [Handlers] }, options);
    await untilResting();
  });

  const insertedAs = async (id: string) =>
    (await ground.database.query<{ status: string }>('select status from inserted where id = $1', [id]))[0]?.status;
  const ended = (id: string) =>
    eventually(async () =>
      expect(await ground.database.query('select from pgqueue.job_log where job_id = $1', [id])).toHaveLength(1),
    );
  /** Resolves when the worker waits, and no notification is on its way to it. */
  const untilResting = () =>
    eventually(async () => {
      const { id } = await app.queue.enqueue('quick');
      await ended(id);
      expect(await insertedAs(id)).toBe('picked');
    });

  it('is inserted as claimed, and its handler gets what was enqueued', async () => {
    const call = deferred<Job>();
    handle = call.resolve;
    const enqueued = { priority: 7, headers: { trace: 'abc' }, maxAttempts: 3 };
    const { id, duplicate } = await app.queue.enqueue('work', { to: ['Ann', null, 'ü😀'] }, enqueued);
    expect(duplicate).toBe(false);
    const job = await call.promise;
    expect(job).toMatchObject({
      id,
      entrypoint: 'work',
      payload: { to: ['Ann', null, 'ü😀'] },
      attempt: 1,
      ...enqueued,
    });
    expect(job.runAt).toEqual(job.createdAt);
    await ended(id);
    expect(await insertedAs(id)).toBe('picked');
    expect((await ground.log()).at(-1)).toEqual({ entrypoint: 'work', attempt: 1, status: 'successful' });
    expect(await ground.database.query('select from pgqueue.job')).toEqual([]);
  });

  it('has a claim that is beaten, and fails as any other', async () => {
    const { promise, reject } = deferred();
    handle = () => promise;
    const { id } = await app.queue.enqueue('work', undefined, { maxAttempts: 1 });
    expect(
      await ground.database.query(
        `select status, attempt, max_attempts, on_failure, company, job_ids::text[] from pgqueue.job join pgqueue.claim using (claim_id)`,
      ),
    ).toEqual([{ status: 'picked', attempt: 1, max_attempts: 1, on_failure: 'hold', company: true, job_ids: [id] }]);
    const lastBeat = () => ground.database.query('select heartbeat_at from pgqueue.claim');
    const inserted = await lastBeat();
    await eventually(async () => expect(await lastBeat()).not.toEqual(inserted));
    reject(new Error('no'));
    await ended(id);
    expect(await ground.database.query('select status from pgqueue.job')).toEqual([{ status: 'failed' }]);
  });

  it.each<[string, EnqueueOptions]>([
    ['is due later', { delay: 50 }],
    ['is due at a time', { runAt: new Date() }],
    ['has a key', { dedupeKey: 'key' }],
  ])('is queued when it %s', async (_, given) => {
    const { id } = await app.queue.enqueue('work', undefined, given);
    expect(await insertedAs(id)).toBe('queued');
    await ended(id);
  });

  it('is queued in a transaction, which decides about it', async () => {
    const { id } = await app.dataSource.transaction((manager) => app.queue.enqueue('work', undefined, { manager }));
    expect(await insertedAs(id)).toBe('queued');
    await ended(id);
  });

  it('is queued when it is for others', async () => {
    const { id } = await app.queue.enqueue('elsewhere');
    expect(await insertedAs(id)).toBe('queued');
  });

  it('is queued when it has company', async () => {
    const [first, second] = await Promise.all([app.queue.enqueue('work'), app.queue.enqueue('work')]);
    expect(await insertedAs(first.id)).toBe('queued');
    expect(await insertedAs(second.id)).toBe('queued');
    await Promise.all([ended(first.id), ended(second.id)]);
  });

  it('is queued while another one runs, so that it is for whoever is free', async () => {
    const running = deferred();
    handle = () => running.promise;
    const { id: first } = await app.queue.enqueue('work');
    const { id } = await app.queue.enqueue('quick');
    expect([await insertedAs(first), await insertedAs(id)]).toEqual(['picked', 'queued']);
    await ended(id);
    running.resolve();
    await ended(first);
  });

  it('waits where its entrypoint is paused', async () => {
    const admin = app.app.get(PgQueueAdmin);
    await admin.pause('work');
    const { id } = await app.queue.enqueue('work', 1, { priority: 5, headers: { a: 'b' }, maxAttempts: 2 });
    expect(
      await ground.database.query('select status, priority, attempt, max_attempts, payload, headers from pgqueue.job'),
    ).toEqual([{ status: 'queued', priority: 5, attempt: 0, max_attempts: 2, payload: 1, headers: { a: 'b' } }]);
    await admin.resume('work');
    await ended(id);
  });

  it('is queued when the worker is stopped', async () => {
    const worker = app.app.get(PgQueueWorker);
    await worker.stop();
    const { id } = await app.queue.enqueue('work');
    expect(await insertedAs(id)).toBe('queued');
    await worker.start();
    await ended(id);
    await untilResting();
  });

  it('does not run in the scope of the one who enqueues', async () => {
    const scopes: unknown[] = [];
    handle = () => void scopes.push(storage.getStore());
    const { id } = await storage.run('request', async () => {
      const enqueued = await app.queue.enqueue('work');
      scopes.push(storage.getStore());
      return enqueued;
    });
    await ended(id);
    expect(await insertedAs(id)).toBe('picked');
    expect(scopes).toEqual(['request', undefined]);
  });

  it('fails where the database refuses it, and the next one does not', async () => {
    await ground.database.query(`alter table pgqueue.job add constraint small check (priority < 100)`);
    await expect(app.queue.enqueue('work', undefined, { priority: 100 })).rejects.toMatchObject({
      constraint: 'small',
    });
    await untilResting();
  });

  it('is queued while the worker has not rested for as long as its last job took, so that others can help', async () => {
    handle = () => pause(500);
    const { id: first } = await app.queue.enqueue('work');
    expect(await insertedAs(first)).toBe('picked');
    await ended(first);
    const { id } = await app.queue.enqueue('quick');
    expect(await insertedAs(id)).toBe('queued');
    await untilResting();
  });

  it('is queued where a trigger may change it', async () => {
    await ground.database.query(`
      create function change() returns trigger language plpgsql as
        $$ begin new.entrypoint := 'quick'; return new; end $$;
      create trigger change before insert on pgqueue.job for each row execute function change()`);
    const call = deferred<Job>();
    quick = call.resolve;
    const { id } = await app.queue.enqueue('work');
    expect(await insertedAs(id)).toBe('queued');
    expect(await call.promise).toMatchObject({ id, entrypoint: 'quick' });
    await ended(id);
  });

  it('is given back when its statement could not be sent before the worker had ended', async () => {
    const held = Array.from({ length: POOL_SIZE }, () => app.dataSource.createQueryRunner());
    await Promise.all(held.map((each) => each.connect()));
    const enqueued = app.queue.enqueue('work', undefined, { maxAttempts: 1 });
    await nextTurn(); // it waits for a connection
    const stopsAt = performance.now();
    await app.app.get(PgQueueWorker).stop();
    expect(performance.now() - stopsAt).toBeLessThan(900); // it does not wait for them
    await Promise.all(held.map((each) => each.release()));
    const { id } = await enqueued;
    expect(await insertedAs(id)).toBe('picked');
    expect(await ground.database.query('select id, status, attempt, losses from pgqueue.job')).toEqual([
      { id, status: 'queued', attempt: 0, losses: 0 },
    ]);
    expect(await ground.database.query('select from pgqueue.claim')).toEqual([]);
  });

  it('is given back when the worker is stopped before the database has answered', async () => {
    const session = await openSession(ground.database);
    await session.begin();
    await session.db.query('lock table pgqueue.job in share mode');
    const enqueued = app.queue.enqueue('work');
    await eventually(async () => expect(await ground.database.query(BLOCKED)).toHaveLength(1));
    const stopped = app.app.get(PgQueueWorker).stop();
    await session.commit();
    const { id } = await enqueued;
    await stopped;
    expect(await insertedAs(id)).toBe('picked');
    expect(await ground.database.query('select id, status, attempt from pgqueue.job')).toEqual([
      { id, status: 'queued', attempt: 0 },
    ]);
    expect(await ground.database.query('select from pgqueue.claim')).toEqual([]);
    await session.end();
  });
});

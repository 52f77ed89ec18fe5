import { pgQueueMigrations } from 'nestjs-pgqueue';
import { createTestDatabase, startWorker, type TestDatabase, type TestWorker } from '../support/index.js';
import { boot } from './boot.js';
import { createRole } from './role.js';

const BOOTS = 8;
const JOBS_A_BOOT = 25;

describe('eight applications that boot at once beside a worker that runs jobs', () => {
  let database: TestDatabase;
  let worker: TestWorker;
  beforeEach(async () => {
    database = await createTestDatabase();
    worker = await startWorker(database.url, { work: () => undefined });
    await worker.event('listening');
  });
  afterEach(() => database.drop());

  /** Boots, enqueues and closes; the worker runs what there is meanwhile. */
  async function bootBeside(url: string): Promise<void> {
    const booted = Promise.all(Array.from({ length: BOOTS }, () => boot(url)));
    const busy = keepBusy(booted);
    const ids = new Set(await busy);
    for (const { queue, close } of await booted) {
      const jobs = Array.from({ length: JOBS_A_BOOT }, () => ({ entrypoint: 'work' }));
      for (const { id } of await queue.enqueueMany(jobs)) ids.add(id);
      await close();
    }
    const settled = () => worker.events.flatMap((event) => (event.type === 'settled' ? event.ids : []));
    await worker.event('settled', () => settled().length === ids.size);
    await worker.stop();
    expect(new Set(settled())).toEqual(ids);
    expect(worker.events.filter(({ type }) => type === 'error' || type === 'claim-lost')).toEqual([]);
  }

  /** Adds a job whenever the last one is done, until `work` is. */
  async function keepBusy(work: Promise<unknown>): Promise<string[]> {
    const ids: string[] = [];
    let isOver = false;
    void work.finally(() => (isOver = true)).catch(() => undefined);
    while (!isOver) {
      const [row] = await database.query<{ id: string }>(
        `with job as (insert into pgqueue.job (entrypoint) values ('work') returning id)
         select id, pg_notify('pgqueue:pgqueue', '') from job`,
      );
      ids.push(row!.id);
      await worker.event('settled', (event) => event.ids.includes(row!.id));
    }
    return ids;
  }

  it('all boot, and the worker loses nothing', async () => {
    await bootBeside(database.url);
    expect(await database.query('select version from pgqueue.migration')).toHaveLength(pgQueueMigrations().length);
  });

  it('all boot as a role that may only read and write, and the worker loses nothing', async () => {
    const role = await createRole(database);
    await database.query(`grant usage on schema pgqueue to ${role.quoted}`);
    await database.query(`grant select, insert, update, delete on all tables in schema pgqueue to ${role.quoted}`);
    await bootBeside(role.url);
    await role.drop();
  });

  it('wait for nothing that the worker holds', async () => {
    const client = await database.pool.connect();
    await client.query('begin');
    await client.query('lock table pgqueue.job, pgqueue.claim, pgqueue.job_log in row exclusive mode');
    const booted = await Promise.all(Array.from({ length: BOOTS }, () => boot(database.url)));
    await Promise.all(booted.map(({ close }) => close()));
    await client.query('rollback');
    client.release();
    await worker.stop();
  });
});

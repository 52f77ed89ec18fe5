import { pgQueueMigrations, type PgQueueOptions, SchemaError } from 'nestjs-pgqueue';
import { createTestDatabase, startWorker, type TestDatabase } from '../support/index.js';
import { boot, type BootedQueue } from './boot.js';
import { createRole, type TestRole } from './role.js';

const DML = 'select, insert, update, delete';

describe('a role without all rights', () => {
  let database: TestDatabase;
  let role: TestRole;
  const prepare = async (options: { empty: boolean }) => {
    database = await createTestDatabase(options);
    role = await createRole(database);
  };
  afterEach(async () => {
    await role.drop();
    await database.drop();
  });

  const grant = (rights: string) => database.query(`grant ${rights} to ${role.quoted}`);
  const bootAsRole = (options: PgQueueOptions = {}): Promise<BootedQueue> => boot(role.url, options);

  async function bootError(options = {}): Promise<SchemaError> {
    const error: unknown = await bootAsRole(options).then(
      (app) => app.close(),
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(SchemaError);
    expect(error).toMatchObject({ code: 'PGQUEUE_SCHEMA_DENIED' });
    return error as SchemaError;
  }

  /** Does what the message says, to install or to use. */
  async function obey(message: string, task: 'install' | 'use'): Promise<void> {
    const grants = [...message.matchAll(/grant .*?;/g)].map(([sql]) => sql);
    const chosen = grants.filter((sql) => sql.includes('create') === (task === 'install'));
    expect(chosen.length).toBeGreaterThan(0);
    for (const sql of chosen) await database.query(sql);
  }

  it.each([{ migrationsRun: true }, { migrationsRun: false }])(
    'that reads and writes an installed schema boots, enqueues and works: %p',
    async (options) => {
      await prepare({ empty: false });
      await grant('usage on schema pgqueue');
      await grant(`${DML} on all tables in schema pgqueue`);
      const { queue, close } = await bootAsRole(options);
      const { id } = await queue.enqueue('name');
      const worker = await startWorker(role.url, { name: () => undefined });
      await worker.event('settled', ({ ids }) => ids.includes(id));
      expect(worker.events.filter(({ type }) => type === 'error')).toEqual([]);
      await worker.stop();
      await close();
    },
  );

  it('in an empty database fails naming what it needs, and can install with just that', async () => {
    await prepare({ empty: true });
    const { message } = await bootError();
    expect(message).toContain(`Role ${role.quoted} may not`);
    expect(message).toContain('permission denied for database');
    await obey(message, 'install');
    const { queue, close } = await bootAsRole();
    await queue.enqueue('name');
    await close();
  });

  it('in an empty schema of another role fails naming what it needs, and can install with just that', async () => {
    await prepare({ empty: true });
    await database.query('create schema pgqueue');
    const { message } = await bootError();
    expect(message).toContain('permission denied for schema pgqueue');
    await obey(message, 'install');
    const { queue, close } = await bootAsRole();
    await queue.enqueue('name');
    await close();
  });

  it.each([{ migrationsRun: true }, { migrationsRun: false }])(
    'on an installed schema fails naming what it needs, and boots with just that: %p',
    async (options) => {
      await prepare({ empty: false });
      const { message } = await bootError(options);
      expect(message).toContain('permission denied for schema pgqueue');
      await obey(message, 'use');
      const { queue, close } = await bootAsRole(options);
      await queue.enqueue('name');
      await close();
    },
  );

  it.each(['job', 'claim', 'job_log', 'statistic_delta'])(
    'that lacks one right on %s fails at boot and names it',
    async (table) => {
      await prepare({ empty: false });
      await grant('usage on schema pgqueue');
      await grant(`${DML} on all tables in schema pgqueue`);
      for (const right of DML.split(', ')) {
        await database.query(`revoke ${right} on pgqueue.${table} from ${role.quoted}`);
        const { message } = await bootError();
        expect(message).toContain(`no right to ${right} on "pgqueue"."${table}"`);
        await obey(message, 'use');
        await (await bootAsRole()).close();
      }
    },
  );

  it('that may not execute the functions, where nobody may by default, fails at boot and names one', async () => {
    await prepare({ empty: false });
    await grant('usage on schema pgqueue');
    await grant(`${DML} on all tables in schema pgqueue`);
    await database.query('revoke execute on all functions in schema pgqueue from public');
    const { message } = await bootError();
    expect(message).toMatch(/no right to execute on pgqueue\.\w+\(/);
    await obey(message, 'use');
    const { queue, close } = await bootAsRole();
    await queue.enqueue('name');
    await close();
  });

  it('that may not read the ledger fails at boot and names it', async () => {
    await prepare({ empty: false });
    await grant('usage on schema pgqueue');
    await grant(`${DML} on pgqueue.job, pgqueue.claim, pgqueue.job_log`);
    expect((await bootError()).message).toContain('permission denied for table migration');
  });

  it('that has installed into a schema of another role leaves that schema when it takes its tables back', async () => {
    await prepare({ empty: true });
    await database.query('create schema pgqueue');
    await grant('usage, create on schema pgqueue');
    const { dataSource, close } = await bootAsRole();
    const runner = dataSource.createQueryRunner();
    for (const Migration of pgQueueMigrations().reverse()) await new Migration().down(runner);
    await runner.release();
    await close();
    expect(
      await database.query(`
        select nspname, relname from pg_catalog.pg_namespace n left join pg_catalog.pg_class c on relnamespace = n.oid
        where nspname = 'pgqueue'`),
    ).toEqual([{ nspname: 'pgqueue', relname: null }]);
  });

  it('gets grants that fit a schema whose name has to be quoted', async () => {
    await prepare({ empty: true });
    const schema = `it's "1" %s`;
    await (await boot(database.url, { schema })).close();
    await obey((await bootError({ schema })).message, 'use');
    await (await bootAsRole({ schema })).close();
  });
});

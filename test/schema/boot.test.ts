import { Client } from 'pg';
import { pgQueueMigrations, type PgQueueOptions, SchemaError } from 'nestjs-pgqueue';
import { DataSource } from 'typeorm';
import { PgQueueMigration } from '../../lib/sql/pg-queue-migration.js';
import { createTestDatabase, deferred, eventually, type TestDatabase } from '../support/index.js';
import { boot } from './boot.js';
const VERSIONS = pgQueueMigrations().map((_, index) => ({ version: index + 1 }));

describe('at boot the module', () => {
  let database: TestDatabase;
  beforeEach(async () => (database = await createTestDatabase({ empty: true })));
  afterEach(() => database.drop());

  const bootHere = (options: PgQueueOptions = {}) => boot(database.url, options);
  const schemas = async () =>
    (
      await database.query<{ name: string }>(`
        select nspname as name from pg_catalog.pg_namespace
        where nspname !~ '^pg_' and nspname not in ('public', 'information_schema')`)
    ).map(({ name }) => name);
  const relations = () =>
    database.query(`select relname from pg_catalog.pg_class where relnamespace = 'pgqueue'::regnamespace`);

  it.each([1, 2, 3])('installs one schema when eight replicas boot at once on an empty database (%i)', async () => {
    const apps = await Promise.all(Array.from({ length: 8 }, () => bootHere()));
    await Promise.all(apps.map(({ queue }, n) => queue.enqueue('name', n)));
    await Promise.all(apps.map(({ close }) => close()));
    expect(await database.query('select version from pgqueue.migration order by 1')).toEqual(VERSIONS);
    expect(await database.query('select count(*)::int from pgqueue.job')).toEqual([{ count: 8 }]);
    expect(await schemas()).toEqual(['pgqueue']);
  });

  it('installs beside a run of TypeORM, and other schemas at the same time', async () => {
    const migrations = ['pgqueue', 'mails'].flatMap((schema) => pgQueueMigrations({ schema }));
    const dataSource = await new DataSource({
      type: 'postgres',
      url: database.url,
      migrations,
      logger: 'debug',
    }).initialize();
    const boots = ['mails', 'pgqueue', 'mails', 'pgqueue'].map((schema) => bootHere({ schema }));
    const [run, ...apps] = await Promise.all([dataSource.runMigrations(), ...boots]);
    expect(run).toHaveLength(migrations.length);
    await Promise.all(apps.map(({ close }) => close()));
    await dataSource.destroy();
    expect((await schemas()).sort()).toEqual(['mails', 'pgqueue']);
  });

  it('waits for a migration that is under way elsewhere, and takes what it has done', async () => {
    const migrations = pgQueueMigrations();
    const dataSource = await new DataSource({
      type: 'postgres',
      url: database.url,
      migrations,
      logger: 'debug',
    }).initialize();
    const booted = deferred();
    await dataSource.transaction(async ({ queryRunner }) => {
      for (const Migration of migrations) await new Migration().up(queryRunner!);
      void bootHere().then(async ({ close }) => booted.resolve(await close()), booted.reject);
      await eventually(async () => {
        const waiting = await database.query(
          `select from pg_catalog.pg_locks 
          where locktype = 'advisory' and not granted
            and database = (select oid from pg_catalog.pg_database where datname = current_database())`,
        );
        return waiting.length === 1;
      });
    });
    await booted.promise;
    await dataSource.destroy();
    expect(await database.query('select version from pgqueue.migration order by 1')).toEqual(VERSIONS);
  });

  it.each(['pgqueue', `it's "1"`])(
    'with migrationsRun: false names what is missing and the command to run: %s',
    async (schema) => {
      const error: unknown = await bootHere({ schema, migrationsRun: false }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SchemaError);
      expect(error).toMatchObject({ code: 'PGQUEUE_SCHEMA_MISSING' });
      const { message } = error as Error;
      expect(message).toContain('is not installed');
      expect(message).toContain(`pgQueueMigrations({ schema: ${JSON.stringify(schema)} })`);
      expect(message).toContain('typeorm migration:run');
      expect(await schemas()).toEqual([]);
    },
  );

  it('with migrationsRun: false boots on an installed schema, and not on one that lacks a version', async () => {
    await (await bootHere()).close();
    await (await bootHere({ migrationsRun: false })).close();
    await database.query('delete from pgqueue.migration');
    await expect(bootHere({ migrationsRun: false })).rejects.toMatchObject({ code: 'PGQUEUE_SCHEMA_MISSING' });
  });

  it('leaves nothing behind when a migration fails half-way', async () => {
    await database.query('create schema pgqueue; create view pgqueue.job_log as select 1');
    await expect(bootHere()).rejects.toThrow('"job_log" already exists');
    expect(await relations()).toEqual([{ relname: 'job_log' }]);
    await database.query('drop view pgqueue.job_log');
    await (await bootHere()).close();
  });

  it.each(['all', 'each', 'none'] as const)(
    "leaves nothing behind when TypeORM's run fails half-way: '%s'",
    async (transaction) => {
      class Failing extends PgQueueMigration {
        readonly version = 99;
        constructor() {
          super('pgqueue', 'Failing', 1800000000000);
        }
        protected apply = () => [`create table ${this.names.schema}.half (id int)`, 'select 1 / 0'];
        protected revert = () => [];
      }
      const migrations = [Failing];
      const dataSource = await new DataSource({
        type: 'postgres',
        url: database.url,
        migrations,
        logger: 'debug',
      }).initialize();
      await expect(dataSource.runMigrations({ transaction })).rejects.toThrow('division by zero');
      expect(await schemas()).toEqual([]);
      await dataSource.destroy();
      await (await bootHere()).close();
    },
  );

  it('recovers when the replica that migrates is killed', async () => {
    const victim = new Client({ connectionString: database.url });
    victim.on('error', () => undefined);
    await victim.connect();
    const dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    const runner = dataSource.createQueryRunner();
    const client = (await runner.connect()) as Client;
    client.on('error', () => undefined);
    await runner.startTransaction();
    for (const Migration of pgQueueMigrations()) await new Migration().up(runner);
    const [{ pid }] = (await runner.query('select pg_backend_pid() as pid')) as [{ pid: number }];
    const booting = bootHere();
    await victim.query('select pg_terminate_backend($1)', [pid]);
    await (await booting).close();
    expect(await database.query('select version from pgqueue.migration order by 1')).toEqual(VERSIONS);
    await runner.release();
    await dataSource.destroy();
    await victim.end();
  });
});

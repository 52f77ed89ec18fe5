import { pgQueueMigrations, SchemaError } from 'nestjs-pgqueue';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/index.js';
import { boot } from './boot.js';

/** A migration of the application's own, which the module must never run. */
class AddOrder1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.query('create table public.shop_order (id int)');
  }
  async down(runner: QueryRunner) {
    await runner.query('drop table public.shop_order');
  }
}

const VERSIONS = pgQueueMigrations().length;

/** Undoes all versions of the schema whose migrations come last. */
async function undo(dataSource: DataSource, transaction: 'all' | 'each' | 'none' = 'all') {
  for (let version = 1; version <= VERSIONS; version++) await dataSource.undoLastMigration({ transaction });
}

describe('the ledger of versions', () => {
  let database: TestDatabase;
  beforeEach(async () => (database = await createTestDatabase({ empty: true })));
  afterEach(() => database.drop());

  const versions = (schema = 'pgqueue') =>
    database.query(`select version, name from ${schema}.migration order by version`);
  const tables = async () =>
    (
      await database.query<{ name: string }>(`
        select format('%s.%s', table_schema, table_name) as name from information_schema.tables
        where table_schema not in ('pg_catalog', 'information_schema') order by 1`)
    ).map(({ name }) => name);
  const QUEUE = ['claim', 'entrypoint', 'job', 'job_log', 'migration', 'statistic', 'statistic_delta'];
  const APP = ['public.migrations', 'public.shop_order'];
  const inSchema = (schema: string) => QUEUE.map((table) => `${schema}.${table}`);

  const open = (migrations = pgQueueMigrations()) =>
    new DataSource({
      type: 'postgres',
      url: database.url,
      migrations: [AddOrder1700000000000, ...migrations],
    }).initialize();

  async function bootModule(schema = 'pgqueue') {
    const { queue, close } = await boot(database.url, { schema });
    await queue.enqueue('name');
    await close();
  }

  describe.each(['all', 'each', 'none'] as const)("shared with TypeORM in its transaction mode '%s'", (transaction) => {
    it("knows of TypeORM's run when the module boots", async () => {
      const dataSource = await open();
      const done = await dataSource.runMigrations({ transaction });
      expect(done).toHaveLength(1 + VERSIONS);
      const before = await versions();
      await bootModule();
      expect(await versions()).toEqual(before);
      expect(await tables()).toEqual([...inSchema('pgqueue'), ...APP]);
      await dataSource.destroy();
    });

    it("knows of the module's run when TypeORM runs, and leaves the jobs alone", async () => {
      await bootModule();
      expect(await tables()).toEqual(inSchema('pgqueue'));
      const before = await versions();
      const dataSource = await open();
      await dataSource.runMigrations({ transaction });
      expect(await dataSource.showMigrations()).toBe(false);
      expect(await versions()).toEqual(before);
      expect(await tables()).toEqual([...inSchema('pgqueue'), ...APP]);
      expect(await database.query('select entrypoint from pgqueue.job')).toEqual([{ entrypoint: 'name' }]);
      await dataSource.destroy();
    });

    it('follows when TypeORM undoes its run, and when it runs again', async () => {
      const dataSource = await open();
      await dataSource.runMigrations({ transaction });
      await undo(dataSource, transaction);
      expect(await tables()).toEqual(APP);
      expect(await database.query(`select from pg_catalog.pg_namespace where nspname = 'pgqueue'`)).toEqual([]);
      await dataSource.runMigrations({ transaction });
      expect(await tables()).toEqual([...inSchema('pgqueue'), ...APP]);
      await dataSource.destroy();
    });
  });

  it('is one for each schema, when one DataSource has several', async () => {
    const schemas = ['pgqueue', 'mails', 'reports'];
    const dataSource = await open(schemas.flatMap((schema) => pgQueueMigrations({ schema })));
    await bootModule('mails');
    await dataSource.runMigrations();
    expect(await tables()).toEqual(['mails', 'pgqueue'].flatMap(inSchema).concat(APP, inSchema('reports')));
    await bootModule('reports');
    await dataSource.undoLastMigration();
    const counts = await Promise.all(schemas.map(async (schema) => (await versions(schema)).length));
    expect(counts).toEqual([VERSIONS, VERSIONS, VERSIONS - 1]);
    for (let left = 3 * VERSIONS - 1; left > 0; left--) await dataSource.undoLastMigration();
    expect(await tables()).toEqual(APP);
    await dataSource.destroy();
  });

  it("belongs to the schema: undoing leaves the others' tables in it, and the schema", async () => {
    await database.query('create schema shared; create table shared.mine (id int)');
    await bootModule('shared');
    const dataSource = await open(pgQueueMigrations({ schema: 'shared' }));
    await dataSource.runMigrations();
    await undo(dataSource);
    expect(await tables()).toEqual([...APP, 'shared.mine']);
    await dataSource.destroy();
  });

  it('refuses a module that is older than the schema, however it is told to migrate', async () => {
    await bootModule();
    await database.query(`insert into pgqueue.migration (version, name) values ($1, 'Later')`, [VERSIONS + 1]);
    for (const migrationsRun of [true, false]) {
      const error: unknown = await boot(database.url, { migrationsRun }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SchemaError);
      expect(error).toMatchObject({ code: 'PGQUEUE_SCHEMA_NEWER' });
      expect((error as Error).message).toContain(
        `is at version ${VERSIONS + 1}; this nestjs-pgqueue knows versions up to ${VERSIONS}`,
      );
    }
    expect(await versions()).toHaveLength(VERSIONS + 1);
  });
});

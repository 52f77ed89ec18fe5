import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DynamicModule, INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { PgQueueModule, PgQueueProducer, type PgQueueOptions } from 'nestjs-pgqueue';
import { createTestDatabase, silentLogger, type TestApp, type TestDatabase } from '../../support/index.js';

export interface LogEntry {
  readonly entrypoint: string;
  readonly attempt: number;
  readonly status: string;
}

/** A database of a test's own and applications on it. What is still open is closed at the end of the test, however it ended. */
export interface Ground {
  readonly database: TestDatabase;
  readonly url: string;
  /** TypeORM on the test's database, or on that of `url`. */
  typeOrm(given?: { name?: string; url?: string; until?: Promise<unknown> }): DynamicModule;
  /** A DataSource of the test's own. */
  dataSource(url?: string, options?: object): Promise<DataSource>;
  /** Starts an application of just these modules. */
  boot(metadata: ModuleMetadata, change?: (builder: TestingModuleBuilder) => void): Promise<TestingModule>;
  /** Starts an application of TypeORM, the queue, and what the test adds. */
  start(metadata?: ModuleMetadata, options?: PgQueueOptions): Promise<TestApp>;
  /** Closes `app` at the end of the test, unless the test does. */
  keep<T extends INestApplicationContext>(app: T): T;
  /** Another database, dropped at the end of the test. */
  anotherDatabase(): Promise<TestDatabase>;
  /** All that the log of the queue has, the oldest first. */
  log(): Promise<LogEntry[]>;
  /** Names of the jobs that are queued, the oldest first. */
  queued(): Promise<string[]>;
}

const LOG = 'select entrypoint, attempt, status from pgqueue.job_log order by ended_at, job_id, attempt';
const QUEUED = `select entrypoint from pgqueue.job where status = 'queued' order by id`;

/** Prepares a ground for each test of the `describe` that it is called in; `database: false`: one where nothing can connect. */
export function useGround({ database = true } = {}): Ground {
  const databases: TestDatabase[] = [];
  const apps = new Set<INestApplicationContext>();
  const dataSources: Promise<DataSource>[] = [];
  if (database) beforeEach(async () => void databases.push(await createTestDatabase()));
  afterEach(async () => {
    await Promise.all([...apps].map((app) => app.close()));
    // Nest can't close an application that failed to start. Its DataSource may even be about to connect.
    await nextTurn();
    const opened = await Promise.all(dataSources.splice(0));
    await Promise.all(opened.filter((each) => each.isInitialized).map((each) => each.destroy()));
    await Promise.all(databases.splice(0).map((each) => each.drop()));
  });

  const keep = <T extends INestApplicationContext>(app: T): T => {
    const close = app.close.bind(app);
    app.close = () => {
      apps.delete(app);
      return close();
    };
    apps.add(app);
    return app;
  };
  const open = (options: DataSourceOptions) => {
    const dataSource = new DataSource(options).initialize();
    dataSources.push(dataSource);
    return dataSource;
  };
  const boot: Ground['boot'] = async (metadata, change) => {
    const builder = Test.createTestingModule(metadata).setLogger(silentLogger);
    change?.(builder);
    const module = await builder.compile();
    await module.init();
    return keep(module);
  };
  const ground: Ground = {
    get database() {
      return databases[0]!;
    },
    get url() {
      return ground.database.url;
    },
    typeOrm: ({ name, url = ground.url, until } = {}) =>
      TypeOrmModule.forRootAsync({
        ...(name === undefined ? {} : { name }),
        useFactory: async () => {
          await until;
          return { type: 'postgres', url, retryAttempts: 0, ...(name === undefined ? {} : { name }) };
        },
        dataSourceFactory: (options) => open(options!),
      }),
    dataSource: (url = ground.url, options = {}) => open({ type: 'postgres', url, ...options }),
    boot,
    start: async (metadata = {}, options = {}) => {
      const imports = [ground.typeOrm(), PgQueueModule.forRoot(options), ...(metadata.imports ?? [])];
      const app = await boot({ ...metadata, imports });
      return { app, queue: app.get(PgQueueProducer), dataSource: app.get(DataSource), close: () => app.close() };
    },
    keep,
    anotherDatabase: async () => {
      const database = await createTestDatabase();
      databases.push(database);
      return database;
    },
    log: () => ground.database.query<LogEntry>(LOG),
    queued: async () =>
      (await ground.database.query<{ entrypoint: string }>(QUEUED)).map(({ entrypoint }) => entrypoint),
  };
  return ground;
}

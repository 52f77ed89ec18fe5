import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { SqlProducer } from '../client/sql-producer.js';
import type { Handler, WorkerContext } from '../claimer/worker-context.js';
import { Worker } from '../claimer/worker.js';
import type { ResolvedOptions, ResolvedWorkerOptions } from '../options.js';
import { openPool, primaryPool } from '../sql/connections.js';
import { poolDatabase } from '../sql/database.js';
import { listenThrough } from '../sql/listen.js';
import { prepareSchema } from '../sql/migrate.js';
import { createNames, type Names } from '../sql/names.js';
import { chooseDataSource, type ChosenDataSource, type DataSourceRequest } from './data-source.resolver.js';
import { logEvents } from './worker-logger.js';

// One each for what runs at the same time: claiming, settling, beating. None can wait for another.
const WORKER_CONNECTIONS = 3;

/** One queue of an application: its database, its producer and, while it runs, its worker. */
export class QueueRuntime {
  readonly producer: SqlProducer;
  private readonly names: Names;
  private worker: { readonly worker: Worker; readonly pool: Pool } | undefined;

  private constructor(
    readonly name: string,
    readonly options: ResolvedOptions,
    readonly source: ChosenDataSource,
  ) {
    this.names = createNames(options.schema);
    const { dataSource } = source;
    const db = poolDatabase(() => primaryPool(dataSource));
    this.producer = new SqlProducer({ queue: name, dataSource, db, names: this.names, notify: options.notify });
  }

  /** Finds the database and brings its schema up to date. */
  static async open(name: string, options: ResolvedOptions, request: DataSourceRequest): Promise<QueueRuntime> {
    const source = await chooseDataSource(request);
    const runtime = new QueueRuntime(name, options, source);
    try {
      await prepareSchema(
        poolDatabase(() => primaryPool(source.dataSource)),
        runtime.names,
        source.dataSource,
        options.migrationsRun,
      );
      return runtime;
    } catch (error) {
      await runtime.close();
      throw error;
    }
  }

  /** Starts a worker for these handlers, unless there are none, or one runs. */
  start(handlers: readonly Handler[]): void {
    const { worker } = this.options;
    if (worker === false || handlers.length === 0 || this.worker !== undefined) return;
    const { dataSource } = this.source;
    const pool = openPool(dataSource, WORKER_CONNECTIONS);
    const context = this.contextFor(handlers, worker, pool);
    // An idle connection that breaks is replaced at the next query.
    pool.on('error', () => undefined);
    this.worker = { worker: new Worker(context, listenThrough(dataSource)), pool };
    this.worker.worker.start();
  }

  /** Drains the worker. Producing goes on. */
  async stop(): Promise<void> {
    const { worker, pool } = this.worker ?? {};
    await worker?.stop();
    if (pool?.ended === false && !pool.ending) await pool.end();
  }

  /** Ends everything. */
  async close(): Promise<void> {
    await this.stop();
    this.producer.close();
    if (this.source.owned && this.source.dataSource.isInitialized) await this.source.dataSource.destroy();
  }

  private contextFor(handlers: readonly Handler[], worker: ResolvedWorkerOptions, pool: Pool): WorkerContext {
    return {
      db: poolDatabase(() => pool),
      names: this.names,
      options: { ...worker, notify: this.options.notify },
      handlers: new Map(handlers.map((handler) => [handler.entrypoint, handler])),
      label: `${hostname()}:${process.pid}`,
      observe: logEvents(this.name),
    };
  }
}

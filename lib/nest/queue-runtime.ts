import { SqlCompletion } from '../client/sql-completion.js';
import { SqlAdmin } from '../client/sql-admin.js';
import { SqlProducer } from '../client/sql-producer.js';
import { within } from '../waiting/within.js';
import type { Handler } from '../claimer/worker-context.js';
import type { ResolvedOptions } from '../options.js';
import { primaryPool } from '../sql/connections.js';
import { poolDatabase, readCommittedDatabase } from '../sql/database.js';
import { prepareSchema } from '../sql/migrate.js';
import { listenThrough } from '../sql/listen.js';
import type { ManagerOwner } from '../sql/manager.js';
import { createNames } from '../sql/names.js';
import { isTransient } from '../sql/transient.js';
import { chooseDataSource, type ChosenDataSource, type DataSourceRequest } from './data-source.resolver.js';
import { QueueWorker } from './queue-worker.js';
import { logTroubles } from './worker-logger.js';

// A server out of reach answers no goodbye, and a handler that was given up may keep its connection.
const DESTROY_GRACE = 1_000;

export interface QueueRequest extends DataSourceRequest {
  readonly name: string;
  readonly options: ResolvedOptions;
  /** Called when the worker starts: finds what this queue runs. */
  readonly handlers: (queue: QueueRuntime) => readonly Handler[];
}

/** One queue of an application: its database, what applications call, and its worker. */
export class QueueRuntime {
  readonly name: string;
  readonly options: ResolvedOptions;
  readonly producer: SqlProducer;
  readonly completion: SqlCompletion;
  readonly admin: SqlAdmin;
  readonly worker: QueueWorker;

  private constructor(
    { name, options, handlers }: QueueRequest,
    readonly source: ChosenDataSource,
  ) {
    const { dataSource } = source;
    const names = createNames(options.schema);
    const db = readCommittedDatabase(() => primaryPool(dataSource));
    this.name = name;
    this.options = options;
    const { notify, transaction } = options;
    const listen = notify ? listenThrough(dataSource, options.listenUrl) : undefined;
    const log = logTroubles(name);
    const onTrouble = (task: string, error: unknown) => log({ task, error, transient: isTransient(error) });
    this.completion = new SqlCompletion({ queue: name, db, names, listen, onTrouble });
    this.admin = new SqlAdmin({ queue: name, db, names, notify });
    this.worker = new QueueWorker({ queue: name, options, dataSource, names, handlers: () => handlers(this) });
    const { handOver } = this.worker;
    this.producer = new SqlProducer({ queue: name, dataSource, db, names, notify, transaction, handOver });
  }

  /** Finds the database and brings its schema up to date. */
  static async open(request: QueueRequest): Promise<QueueRuntime> {
    const source = await chooseDataSource(request);
    const runtime = new QueueRuntime(request, source);
    try {
      await runtime.prepareSchema();
      return runtime;
    } catch (error) {
      await runtime.close();
      throw error;
    }
  }

  /** Whose transactions its handlers may use. */
  get owner(): ManagerOwner {
    return { queue: this.name, dataSource: this.source.dataSource };
  }

  /** Whether both would use the same tables. */
  isSameAs(other: QueueRuntime): boolean {
    return this.options.schema === other.options.schema && databaseOf(this.source) === databaseOf(other.source);
  }

  /** Ends everything. */
  async close(): Promise<void> {
    await this.worker.close();
    await this.completion.close();
    await Promise.all([this.producer.close(), this.admin.close()]);
    if (this.source.owned && this.source.dataSource.isInitialized) {
      await within(DESTROY_GRACE, this.source.dataSource.destroy());
    }
  }

  private prepareSchema(): Promise<void> {
    const { dataSource } = this.source;
    const db = poolDatabase(() => primaryPool(dataSource));
    return prepareSchema(db, createNames(this.options.schema), dataSource, this.options.migrationsRun);
  }
}

// What the pool was told; one database that is reached by two addresses isn't recognised.
function databaseOf({ dataSource }: ChosenDataSource): string {
  const { host, port, database, connectionString } = primaryPool(dataSource).options;
  const { options } = dataSource;
  return JSON.stringify([host, port, database ?? options.database, connectionString]);
}

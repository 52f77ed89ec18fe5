import { isDeepStrictEqual } from 'node:util';
import type { Client, ClientConfig, Pool, PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';

/** What TypeORM's driver for PostgreSQL has and its types don't say. */
interface PostgresDriver {
  /** The pool of the primary. */
  readonly master: Pool;
  readonly postgres: { Pool: new (config: PoolConfig) => Pool; Client: ClientClass };
}

type ClientClass = new (config?: ClientConfig) => Client;

function driverOf(dataSource: DataSource): PostgresDriver {
  return dataSource.driver as unknown as PostgresDriver;
}

/** The application's own pool, looked up at each use: a DataSource that is initialised again has another. */
export function primaryPool(dataSource: DataSource): Pool {
  return driverOf(dataSource).master;
}

const CONNECT_TIMEOUT = 10_000;
// No statement of ours waits for a lock, so one that takes this long has a connection that is dead without saying so.
const QUERY_TIMEOUT = 30_000;

export interface OwnPool {
  readonly pool: Pool;
  /** Whether one for this DataSource would have the same connections. */
  readonly fits: (dataSource: DataSource) => boolean;
  /** Closes its connections; those that are still busy after `grace` milliseconds are cut off. */
  readonly end: (grace: number) => Promise<void>;
}

/** A pool beside the application's, to the same server with the same settings, so that neither can starve the other. */
export function openPool(dataSource: DataSource, max: number): OwnPool {
  const { Pool, Client } = driverOf(dataSource).postgres;
  const open = new Map<Client, Promise<void>>();
  const settingsFor = (each: DataSource) => ({ ...settingsOf(each), query_timeout: QUERY_TIMEOUT, min: 0, max });
  const settings = settingsFor(dataSource);
  const pool = new Pool({ ...settings, Client: registering(Client, open) });
  pool.on('error', () => undefined); // an idle connection that breaks is replaced at the next query
  const end = async (grace: number) => {
    const cut = setTimeout(() => [...open.keys()].forEach(cutOff), grace);
    await pool.end();
    await Promise.all(open.values());
    clearTimeout(cut);
  };
  const fits = (other: DataSource) => {
    const others = settingsFor(other);
    const isSame = isDeepStrictEqual(others, settings) && keyOf(others) === keyOf(settings);
    return isSame && driverOf(other).postgres.Pool === Pool;
  };
  return { pool, fits, end };
}

// pg hides it.
const keyOf = ({ ssl }: PoolConfig) => (typeof ssl === 'object' ? ssl.key : undefined);

// A pool doesn't know those that are still connecting, and forgets those to which it says goodbye. Each of them, where the
// server doesn't answer, would keep the process alive for as long as its system is patient.
function registering(Base: ClientClass, open: Map<Client, Promise<void>>): ClientClass {
  return class extends Base {
    constructor(config?: ClientConfig) {
      super(config);
      // A pool listens to it only between its uses, and not from the first moment. Who uses a broken one is told.
      this.on('error', () => undefined);
      const ended = new Promise<void>((resolve) => this.once('end', resolve));
      open.set(
        this,
        ended.then(() => void open.delete(this)),
      );
    }
  };
}

/** A connection beside the pools, not yet connected: to `url`, else to where the application's go. */
export function createClient(
  dataSource: DataSource,
  { url, queryTimeout }: { url: string | undefined; queryTimeout: number },
): Client {
  const { Client } = driverOf(dataSource).postgres;
  const { connectionTimeoutMillis, keepAlive, application_name, ...where } = settingsOf(dataSource);
  const settings = { connectionTimeoutMillis, keepAlive, application_name, query_timeout: queryTimeout };
  return new Client({ ...(url === undefined ? where : { connectionString: url }), ...settings });
}

/** Ends a connection without asking the server, which may be out of reach. */
export function cutOff(client: Client): void {
  // The bindings of pg-native have no stream.
  (client as unknown as { connection?: { stream: { destroy(): void } } }).connection?.stream.destroy();
}

function settingsOf(dataSource: DataSource): PoolConfig {
  const { options } = primaryPool(dataSource);
  return {
    ...options,
    // Not enumerable there.
    ...(options.password === undefined ? {} : { password: options.password }),
    // What pg_stat_activity shows.
    application_name: [options.application_name, 'nestjs-pgqueue'].filter(Boolean).join(' '),
    connectionTimeoutMillis: options.connectionTimeoutMillis ?? CONNECT_TIMEOUT,
    keepAlive: true,
    // An option of pg that its types don't have.
    ...{ binary: false },
  };
}

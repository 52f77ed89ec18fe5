import { execFile } from 'node:child_process';
import { startEmbeddedPostgres } from '../../lib/testing/index.js';

export interface TestServer {
  readonly description: string;
  readonly url: string;
  stop(): Promise<void>;
}

const IMAGE = 'postgres:18';
const MAX_CONNECTIONS = 300;
const PROBE_TIMEOUT = 5_000;

/** The server named by TEST_DATABASE_URL, else one in a container, else the embedded one. */
export async function startTestServer(): Promise<TestServer> {
  const url = process.env['TEST_DATABASE_URL'];
  if (url) return { description: 'TEST_DATABASE_URL', url, stop: () => Promise.resolve() };
  const container = (await hasContainerRuntime()) ? await startContainer().catch(reportFailure) : undefined;
  if (container) return container;
  const server = await startEmbeddedPostgres({ settings: { max_connections: MAX_CONNECTIONS } });
  return { description: 'embedded PostgreSQL', ...server };
}

/** A runtime without a registry in reach can't fetch the image; that is no reason not to test. */
function reportFailure(error: unknown): undefined {
  process.stderr.write(`\nThe container runtime could not run ${IMAGE}: ${String(error)}\n`);
}

/** In a process of its own, as a daemon that accepts and never answers would hang this one. */
function hasContainerRuntime(): Promise<boolean> {
  const probe = `require('testcontainers').getContainerRuntimeClient().then(() => process.exit(0), () => process.exit(1))`;
  const options = { cwd: __dirname, timeout: PROBE_TIMEOUT, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, ['--eval', probe], options, (error) => resolve(error === null));
  });
}

async function startContainer(): Promise<TestServer> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({ POSTGRES_HOST_AUTH_METHOD: 'trust' })
    .withCommand(['postgres', '-c', `max_connections=${MAX_CONNECTIONS}`, '-c', 'fsync=off'])
    .withExposedPorts(5432)
    // The first time is the server that the image runs to create the database.
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .start();
  const url = `postgresql://postgres@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
  return {
    description: `container of ${IMAGE}`,
    url,
    stop: async () => {
      await container.stop();
    },
  };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from 'nestjs-pgqueue/testing';

/** What the shop needs and the environment doesn't name: a PostgreSQL server and a folder for outgoing mail. */
export interface LocalServices {
  /** The given environment, completed. */
  readonly env: NodeJS.ProcessEnv;
  readonly description: string;
  /** Stops the server and removes the folder, if not done yet. What the environment named is left alone. */
  stop(): Promise<void>;
}

export async function startLocalServices(env: NodeJS.ProcessEnv): Promise<LocalServices> {
  const database = env.DATABASE_URL ? existingDatabase(env.DATABASE_URL) : await embeddedDatabase();
  const outbox = env.OUTBOX_DIR ? existingFolder(env.OUTBOX_DIR) : temporaryFolder();
  return {
    env: { ...env, DATABASE_URL: database.url, OUTBOX_DIR: outbox.path },
    description: `${database.description}, receipts go to ${env.SMTP_URL ? 'the SMTP server' : outbox.path}`,
    async stop() {
      outbox.remove();
      await database.stop();
    },
  };
}

async function embeddedDatabase() {
  const server = await startEmbeddedPostgres();
  return { url: server.url, description: `an embedded PostgreSQL (${server.url})`, stop: () => server.stop() };
}

function existingDatabase(url: string) {
  return { url, description: `the PostgreSQL of DATABASE_URL (${withoutPassword(url)})`, stop: async () => {} };
}

function temporaryFolder() {
  const path = mkdtempSync(join(tmpdir(), 'shop-outbox-'));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  return { path, remove };
}

function existingFolder(path: string) {
  return { path, remove: () => {} };
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'not a URL';
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

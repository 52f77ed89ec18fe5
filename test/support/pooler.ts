import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { findFreePort } from '../../lib/testing/free-port.js';
import { chooseServerUser } from '../../lib/testing/server-user.js';
import { eventually } from './eventually.js';

export interface Pooler {
  /** Leads through it to where the given URL does. */
  readonly url: string;
  stop(): Promise<void>;
}

// Debian installs it where only root looks.
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`;

/** Whether PgBouncer is installed. */
export function hasPooler(): boolean {
  return spawnSync('pgbouncer', ['--version'], { env: { ...process.env, PATH } }).status === 0;
}

/** Starts PgBouncer before the server of `target`. */
export async function startPooler(target: string, mode: 'transaction' | 'session'): Promise<Pooler> {
  const port = await findFreePort();
  const folder = await mkdtemp('/tmp/pgqueue-pooler-');
  await chmod(folder, 0o755);
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, settings(new URL(target), port, mode), { mode: 0o644 });
  // It refuses to run as root, as the server does.
  const child = spawn('pgbouncer', [file], { ...chooseServerUser(), cwd: '/', env: { ...process.env, PATH } });
  child.stdout.resume();
  child.stderr.resume();
  const url = new URL(target);
  url.host = `127.0.0.1:${port}`;
  const stop = async () => {
    await end(child);
    await rm(folder, { recursive: true });
  };
  await eventually(() => connect(url.href)).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { url: url.href, stop };
}

function settings({ hostname, port, username, password }: URL, listenPort: number, mode: string): string {
  const login = `user=${decodeURIComponent(username)}${password && ` password=${decodeURIComponent(password)}`}`;
  return `
[databases]
* = host=${hostname} port=${port || 5432} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 10
`;
}

async function connect(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.end();
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

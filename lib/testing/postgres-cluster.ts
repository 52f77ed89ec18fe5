import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { programFailed, programNotStarted } from './embedded-postgres.errors.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import type { ServerUser } from './server-user.js';
import type { Watchdog } from './watchdog.js';

export type PostgresSettings = Readonly<Record<string, string | number | boolean>>;

/** Where one server lives: `folder` holds its data and its log, and all that it writes. */
export interface PostgresCluster {
  readonly binaries: PostgresBinaries;
  readonly folder: string;
  readonly user: ServerUser;
  readonly watchdog: Watchdog;
}

const START_TIMEOUT = 60_000;
const START_POLL = 10;
const OUTPUT_TAIL = 2_000;

/** Escalation of a stop: fast shutdown, immediate shutdown (which takes up to 5 s by itself), the end. */
const STOP_SIGNALS = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 6_000],
  ['SIGKILL', 2_000],
] as const;

export async function initialiseCluster(cluster: PostgresCluster, settings: PostgresSettings): Promise<void> {
  const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  const initdb = await launch(cluster, 'initdb', ['-D', dataOf(cluster), ...options]);
  if (!hasEnded(initdb)) await once(initdb, 'exit');
  if (initdb.exitCode !== 0) throw await failed(cluster, 'initdb', initdb);
  await appendFile(join(dataOf(cluster), 'postgresql.conf'), settingsText(settings));
}

function settingsText(settings: PostgresSettings): string {
  const quote = (value: unknown) => String(value).replaceAll('\\', '\\\\').replaceAll("'", "''");
  return Object.entries(settings)
    .map(([name, value]) => `\n${name} = '${quote(value)}'`)
    .join('');
}

/** Resolves when the server accepts connections on `port` of 127.0.0.1. */
export async function startServer(cluster: PostgresCluster, port: number): Promise<ChildProcess> {
  const place = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='];
  const server = await launch(cluster, 'postgres', ['-D', dataOf(cluster), '-p', String(port), ...place]);
  const deadline = Date.now() + START_TIMEOUT;
  while (!(await isReady(cluster))) {
    if (hasEnded(server) || Date.now() > deadline) throw await failed(cluster, 'postgres', server);
    await delay(START_POLL);
  }
  // A server that nobody stopped must not keep a finished program alive.
  server.unref();
  return server;
}

/** As pg_ctl does: the status in postmaster.pid holds whatever the settings say about logging. */
async function isReady(cluster: PostgresCluster): Promise<boolean> {
  const text = await readFile(join(dataOf(cluster), 'postmaster.pid'), 'utf8').catch(() => '');
  return text.split('\n')[7]?.trim() === 'ready';
}

export async function stopServer(server: ChildProcess): Promise<void> {
  server.ref();
  for (const [signal, limit] of STOP_SIGNALS) {
    if (hasEnded(server)) return;
    server.kill(signal);
    await once(server, 'exit', { signal: AbortSignal.timeout(limit) }).catch(() => undefined);
  }
}

/**
 * In a session of its own, out of reach of the terminal's Ctrl-C: the application drains first, then stops the server.
 * It writes to a file, as a pipe that a busy program doesn't read would in time block the server.
 */
async function launch(cluster: PostgresCluster, program: keyof PostgresBinaries, args: string[]) {
  const { binaries, folder, user, watchdog } = cluster;
  const log = openSync(logOf(cluster), 'w');
  try {
    const env = { ...process.env, LC_ALL: 'C' };
    const stdio = ['ignore', log, log] as const;
    const child = spawn(binaries[program], args, { ...user, cwd: folder, env, detached: true, stdio: [...stdio] });
    if (child.pid === undefined) await once(child, 'spawn');
    watchdog.guard(child);
    return child;
  } catch (error) {
    throw programNotStarted(program, error);
  } finally {
    closeSync(log);
  }
}

async function failed(cluster: PostgresCluster, program: string, child: ChildProcess) {
  const output = (await readFile(logOf(cluster), 'utf8')).slice(-OUTPUT_TAIL);
  const what = hasEnded(child)
    ? `ended with ${child.signalCode ?? `code ${child.exitCode}`}`
    : `was not ready after ${START_TIMEOUT} ms`;
  return programFailed(program, what, output);
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
const dataOf = (cluster: PostgresCluster) => join(cluster.folder, 'data');
const logOf = (cluster: PostgresCluster) => join(cluster.folder, 'log');

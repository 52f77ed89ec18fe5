import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from '../../lib/testing/free-port.js';
import type { BenchServer } from './postgres.js';
import { sendToRedis } from './resp.js';

// What BullMQ's guide to production asks for: an append-only file, written out each second, and no eviction.
const SETTINGS = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction', '--save', ''];

/** Starts the redis-server of this machine; undefined where there is none. */
export async function startRedis(): Promise<BenchServer | undefined> {
  const { status, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  if (status !== 0) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'nestjs-pgqueue-redis-'));
  const port = await findFreePort();
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder];
  const server = spawn('redis-server', [...place, ...SETTINGS], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface(server.stdout)) if (line.includes('Ready to accept')) break;
  server.stdout.resume();
  const url = `redis://127.0.0.1:${port}/0`;
  return {
    version: `Redis ${/v=([\d.]+)/.exec(stdout)?.[1] ?? ''}`,
    createDatabase: async () => {
      await sendToRedis(url, 'FLUSHALL');
      return url;
    },
    dropDatabase: () => sendToRedis(url, 'FLUSHALL'),
    stop: async () => {
      const exit = once(server, 'exit');
      server.kill();
      await exit;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Commands that the server has carried out, those that scripts sent among them. */
export async function countRedisCommands(url: string): Promise<number> {
  const text = await sendToRedis(url, 'INFO stats');
  return Number(/total_commands_processed:(\d+)/.exec(text)?.[1]);
}

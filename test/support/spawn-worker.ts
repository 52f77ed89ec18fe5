import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import { deferred } from './deferred.js';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface WorkerProcess {
  readonly pid: number;
  /** Resolves with the match of the first line of its stdout, past or to come, that fits; rejects when it ends before. */
  waitForLine(pattern: RegExp): Promise<RegExpMatchArray>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it is over and all its output has been read. */
  readonly exited: Promise<Exit>;
}

const TESTS = path.resolve(__dirname, '..');
const REGISTER = path.resolve(TESTS, '../scripts/register.cjs');

/**
 * Runs a TypeScript file of test/ (`script` is its path from there, or absolute) in a process of its own. `env` is added to the
 * environment of the test.
 */
export function spawnWorker(
  script: string,
  env: NodeJS.ProcessEnv = {},
  options: Pick<SpawnOptions, 'cwd' | 'detached' | 'uid' | 'gid'> = {},
): WorkerProcess {
  const child = spawn(process.execPath, ['--require', REGISTER, path.resolve(TESTS, script)], {
    ...options,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = readOutput(child);
  return {
    pid: child.pid ?? 0,
    waitForLine: output.waitForLine,
    kill: (signal) => void child.kill(signal),
    exited: once(child, 'close').then(([code, signal]) => ({ code, signal })),
  };
}

function readOutput(child: ChildProcess) {
  const lines: string[] = [];
  let errors = '';
  const waiting = new Set<() => void>();
  const wakeAll = () => waiting.forEach((wake) => wake());
  createInterface(child.stdout!).on('line', (line) => (lines.push(line), wakeAll()));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (errors += text));
  let closed = false;
  child.once('close', () => ((closed = true), wakeAll()));

  const waitForLine = async (pattern: RegExp) => {
    const { promise, resolve, reject } = deferred<RegExpMatchArray>();
    const look = () => {
      const match = lines.map((line) => line.match(pattern)).find((found) => found !== null);
      if (match) resolve(match);
      else if (closed) reject(new Error(`It ended without a line like ${pattern}:\n${lines.join('\n')}\n${errors}`));
    };
    waiting.add(look);
    look();
    return promise.finally(() => waiting.delete(look));
  };
  return { waitForLine };
}

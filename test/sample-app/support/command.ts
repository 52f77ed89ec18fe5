import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { deferred } from '../../support/index.js';

const ROOT = resolve(__dirname, '../../..');

export interface Command {
  /** What it wrote so far, to stdout and stderr. */
  output(): string;
  /** Resolves with the first match in its output. */
  waitFor(pattern: RegExp): Promise<RegExpMatchArray>;
  /** What a terminal does with Ctrl-C: it signals the whole group. */
  pressCtrlC(): void;
  readonly exitCode: Promise<number | null>;
  /** Ends whatever is left of it. */
  kill(): Promise<void>;
}

/** Runs a command as a terminal does, in a process group of its own. */
export function runCommand(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  user: { uid?: number; gid?: number } = {},
): Command {
  const child = spawn(program, args, {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...user,
  });
  const { output, waitFor } = readOutput(child);
  const exitCode = once(child, 'close').then(([code]) => code as number | null);
  const signal = (name: NodeJS.Signals) => void process.kill(-child.pid!, name);
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null) signal('SIGKILL');
    await exitCode;
  };
  return { output, waitFor, pressCtrlC: () => signal('SIGINT'), exitCode, kill };
}

function readOutput(child: ChildProcess): Pick<Command, 'output' | 'waitFor'> {
  let output = '';
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      waiting.forEach((look) => look());
    });
  }
  const waitFor = (pattern: RegExp) => {
    const { promise, resolve: found, reject } = deferred<RegExpMatchArray>();
    const look = () => {
      const match = output.match(pattern);
      if (match) found(match);
    };
    waiting.add(look);
    look();
    child.once('close', () => reject(new Error(`It ended without ${String(pattern)}:\n${output}`)));
    return promise.finally(() => waiting.delete(look));
  };
  return { output: () => output, waitFor };
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { programNotStarted } from './embedded-postgres.errors.js';

/**
 * Each line of its input is the process to end (empty: none any more). When the input closes, because we said so
 * or because this process is gone, however it died, the script ends that process and removes the folder `$1`.
 *
 * SIGQUIT is PostgreSQL's immediate shutdown: the server ends its backends, kills those that linger after 5 s, and
 * removes postmaster.pid last. That file is what tells, as a dead child that nobody reaps still has its pid.
 */
const SCRIPT = `
  trap '' HUP INT TERM
  while read -r line; do pid=$line; done
  if [ -n "$pid" ]; then
    kill -s QUIT -- "-$pid"
    polls=0
    while [ -e "$1/data/postmaster.pid" ] && [ $polls -lt 140 ]; do sleep 0.05; polls=$((polls + 1)); done
    kill -s KILL -- "-$pid"
  fi
  for attempt in 1 2 3 4 5; do rm -rf "$1" && break; sleep 0.2; done
`;

const EXIT_TIMEOUT = 10_000;

/** A shell in a session of its own that outlives this process just long enough to leave nothing behind. */
export interface Watchdog {
  /** Takes charge of a process that leads its own group, until it exits. */
  guard(child: ChildProcess): void;
  /** Ends what is guarded, removes the folder, and resolves when that is done. */
  finish(): Promise<void>;
}

export async function startWatchdog(folder: string): Promise<Watchdog> {
  const shell = spawn('sh', ['-c', SCRIPT, 'sh', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await once(shell, 'spawn').catch((error: unknown) => {
    throw programNotStarted('sh', error);
  });
  return watchdogOf(shell, folder);
}

function watchdogOf(shell: ChildProcess, folder: string): Watchdog {
  const { stdin } = shell;
  if (stdin === null) throw new TypeError('The watchdog has no input');
  const exited = once(shell, 'exit');
  let guarded = '';

  const tell = (pid: string) => {
    guarded = pid;
    if (stdin.writable) stdin.write(`${pid}\n`);
  };
  const finishNow = () => {
    spawnSync('sh', ['-c', SCRIPT, 'sh', folder], { cwd: '/', input: `${guarded}\n`, timeout: EXIT_TIMEOUT });
    shell.kill('SIGKILL');
  };

  // A shell that someone else killed must not take this process along by EPIPE.
  stdin.on('error', () => undefined);
  letGo(shell);
  process.once('exit', finishNow);

  return {
    guard(child) {
      tell(String(child.pid));
      child.once('exit', () => tell(''));
    },
    async finish() {
      shell.ref();
      stdin.end();
      await exited;
      process.off('exit', finishNow);
    },
  };
}

/** A server that nobody stopped must not keep a finished program alive. */
function letGo(shell: ChildProcess): void {
  shell.unref();
  (shell.stdin as unknown as { unref?(): void } | null)?.unref?.();
}

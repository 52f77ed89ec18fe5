import { type Exit, spawnWorker } from '../../support/index.js';

export interface Shop {
  readonly url: string;
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  readonly exited: Promise<Exit>;
  /** Ctrl-C, and what comes of it. */
  close(): Promise<Exit>;
}

const DEFAULTS = { PORT: '0', SMTP_URL: '' };

/** Runs the sample app in a process of its own. */
export async function openShop(env: { DATABASE_URL: string; OUTBOX_DIR: string } & NodeJS.ProcessEnv): Promise<Shop> {
  const { pid, kill, exited, waitForLine } = spawnWorker('../sample-app/main.ts', { ...DEFAULTS, ...env });
  const [, url = ''] = await waitForLine(/is open at (http:\S+)/);
  const close = () => {
    kill('SIGINT');
    return exited;
  };
  return { url, pid, kill, exited, close };
}

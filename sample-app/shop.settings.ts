import type { PgQueueOptions } from 'nestjs-pgqueue';

export interface ShopSettings {
  readonly port: number;
  readonly databaseUrl: string;
  /** The SMTP server that sends the receipts. Without one they are written to the outbox. */
  readonly smtpUrl: string | undefined;
  readonly outboxDir: string;
  /** How this process runs jobs, or `false` for one that only answers requests. */
  readonly worker: NonNullable<PgQueueOptions['worker']>;
}

/** @throws Error naming the variable that is missing or wrong */
export function readSettings(env: NodeJS.ProcessEnv): ShopSettings {
  return {
    port: wholeNumber(env, 'PORT') ?? 3000,
    databaseUrl: postgresUrl(env, 'DATABASE_URL'),
    smtpUrl: env.SMTP_URL,
    outboxDir: required(env, 'OUTBOX_DIR'),
    worker: env.WORKER !== 'false' && {
      concurrency: 20,
      pollInterval: wholeNumber(env, 'POLL_INTERVAL'),
      heartbeatTimeout: wholeNumber(env, 'HEARTBEAT_TIMEOUT'),
      shutdownTimeout: 2_000,
    },
  };
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

function postgresUrl(env: NodeJS.ProcessEnv, name: string): string {
  const url = required(env, name);
  if (/^postgres(ql)?:$/.test(URL.canParse(url) ? new URL(url).protocol : '')) return url;
  throw new Error(`${name} has to be a URL such as postgresql://user@localhost:5432/shop`);
}

function wholeNumber(env: NodeJS.ProcessEnv, name: string): number | undefined {
  const value = env[name];
  if (!value) return undefined;
  if (!/^\d+$/.test(value)) throw new Error(`${name} is '${value}', but has to be a whole number`);
  return Number(value);
}

import type { DataSource, DataSourceOptions, EntityManager } from 'typeorm';
import { CENTURY } from './domain/duration.js';
import { checkEntrypointName } from './domain/entrypoint-name.js';
import { InvalidOptionError } from './domain/errors.js';
import type { FailurePolicy } from './domain/failure-policy.js';
import type { RetryPolicy } from './domain/retry-policy.js';
import { boolean, check, fields, integer, list, number, type Check } from './options-checks.js';

/** Options of `PgQueueModule`. All durations are milliseconds. */
export interface PgQueueOptions {
  /**
   * An initialised TypeORM `DataSource`, or options for one that the module opens and closes itself.
   * @default the application's `DataSource`; when it has none, one opened for `DATABASE_URL`
   */
  dataSource?: DataSource | DataSourceOptions | undefined;
  /** Schema of all tables of the queue, 63 bytes at most. @default 'pgqueue' */
  schema?: string | undefined;
  /** `true` migrates at start; `false` only verifies, and fails naming the command to run. @default true */
  migrationsRun?: boolean | undefined;
  /** `false` only produces; an object sets how jobs are run. @default true */
  worker?: boolean | WorkerOptions | undefined;
  /** Wake workers with LISTEN/NOTIFY. With `false` they only poll. @default true */
  notify?: boolean | undefined;
  /**
   * URL of a direct connection to listen on, where the DataSource goes through a pooler in transaction mode.
   * @default as the DataSource connects
   */
  listenUrl?: string | undefined;
  /** How long the log keeps what became of jobs. */
  retention?: RetentionOptions | undefined;
  /**
   * Returns the manager of the transaction that surrounds the call, or `undefined` where there is none. Asked once by each
   * `enqueue` and `enqueueMany` that is not given a `manager`.
   * @default none: what is enqueued without a `manager` commits at once
   */
  transaction?: AmbientTransaction | undefined;
  /** What holds for every entrypoint that doesn't say otherwise. */
  defaults?: RunOptions | undefined;
}

/**
 * How long outcomes stay in the table `job_log`, in milliseconds. Workers delete what is older about once a minute, and nothing
 * before it is a minute old.
 */
export interface RetentionOptions {
  /** Those of successful attempts; `0` writes none. @default 604800000 (7 days) */
  successful?: number | undefined;
  /** All others. @default 2592000000 (30 days) */
  failed?: number | undefined;
}
export type AmbientTransaction = () => EntityManager | undefined;

/** How the jobs of an entrypoint are run. */
export interface RunOptions {
  /** When to try again after the handler threw. @default 5 attempts, 1 s × 2ⁿ up to 5 min, ±10 % */
  retry?: Partial<RetryPolicy> | undefined;
  /** Milliseconds after which an attempt has failed, whatever its handler goes on to do. @default none */
  timeout?: number | undefined;
  /** Whether a job is kept as `failed` after its last failure, or dropped. @default 'hold' */
  onFailure?: FailurePolicy | undefined;
}

/** How a worker runs jobs. All durations are milliseconds. */
export interface WorkerOptions {
  /** Handlers that run at the same time in this process. @default 10 */
  concurrency?: number | undefined;
  /** The longest time between two looks at the queue. @default 5000 */
  pollInterval?: number | undefined;
  /** A worker that is silent for this long is taken for dead and its jobs are given to others. @default 30000 */
  heartbeatTimeout?: number | undefined;
  /** How long running handlers may take to end when the application stops. @default 20000 */
  shutdownTimeout?: number | undefined;
  /** Run only these. @default every entrypoint that has a handler */
  entrypoints?: readonly string[] | undefined;
  /** Start with the application. With `false` nothing runs before `PgQueueWorker.start()` or `drain()`. @default true */
  autoStart?: boolean | undefined;
}

export interface ResolvedOptions {
  readonly dataSource: DataSource | DataSourceOptions | undefined;
  readonly schema: string;
  readonly migrationsRun: boolean;
  readonly worker: ResolvedWorkerOptions | false;
  readonly notify: boolean;
  readonly listenUrl: string | undefined;
  readonly retention: Retention;
  readonly transaction: AmbientTransaction | undefined;
  readonly defaults: RunPolicy;
}

export interface Retention {
  readonly successful: number;
  readonly failed: number;
}

export interface RunPolicy {
  readonly retry: RetryPolicy;
  readonly timeout: number | undefined;
  readonly onFailure: FailurePolicy;
}

export interface ResolvedWorkerOptions {
  readonly concurrency: number;
  readonly pollInterval: number;
  readonly heartbeatTimeout: number;
  readonly shutdownTimeout: number;
  readonly entrypoints: readonly string[] | undefined;
  readonly autoStart: boolean;
}

const DEFAULT_SCHEMA = 'pgqueue';

const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 5, delay: 1_000, backoff: 2, maxDelay: 300_000, jitter: 0.1 };

const DEFAULT_WORKER: ResolvedWorkerOptions = {
  concurrency: 10,
  pollInterval: 5_000,
  heartbeatTimeout: 30_000,
  shutdownTimeout: 20_000,
  entrypoints: undefined,
  autoStart: true,
};

const DAY = 86_400_000;
const DEFAULT_RETENTION: Retention = { successful: 7 * DAY, failed: 30 * DAY };

export const INT4_MAX = 2_147_483_647;
// setTimeout fires at once for anything longer.
const LONGEST_TIMER = 2_147_483_647;

const duration = (min: number) => integer(min, LONGEST_TIMER, 'milliseconds');
/** Milliseconds from now; a job may wait for a century. */
export const checkDelay: Check<number> = number(0, CENTURY, 'milliseconds');
export const checkPriority: Check<number> = integer(-INT4_MAX - 1, INT4_MAX);
export const checkMaxAttempts: Check<number> = integer(1, INT4_MAX);

/** Returns only what was given. */
export const checkRetry = fields<RetryPolicy>({
  maxAttempts: checkMaxAttempts,
  delay: number(0, CENTURY, 'milliseconds'),
  backoff: number(1, 1_000),
  maxDelay: number(0, CENTURY, 'milliseconds'),
  jitter: number(0, 1),
});

export const RUN_CHECKS = {
  retry: checkRetry,
  timeout: duration(1),
  onFailure: check((value): value is FailurePolicy => value === 'hold' || value === 'drop', `'hold' or 'drop'`),
};

const checkWorker = fields<ResolvedWorkerOptions>({
  concurrency: integer(1, 100_000),
  pollInterval: duration(10),
  heartbeatTimeout: duration(100),
  shutdownTimeout: duration(0),
  entrypoints: list(checkEntrypointName),
  autoStart: boolean,
});

const age = integer(0, CENTURY, 'milliseconds');
const checkRetention = fields<Retention>({ successful: age, failed: age });

const checkOptions = fields<Required<PgQueueOptions>>({
  dataSource: check(
    (value): value is DataSource => typeof value === 'object' && value !== null,
    'a DataSource or its options',
  ),
  schema: checkSchema,
  migrationsRun: boolean,
  worker: (value, option) => (typeof value === 'boolean' ? value : checkWorker(value, option)),
  notify: boolean,
  listenUrl: checkUrl,
  retention: checkRetention,
  transaction: check(
    (value): value is AmbientTransaction => typeof value === 'function',
    'a function that returns an EntityManager or undefined',
  ),
  defaults: fields<RunOptions>(RUN_CHECKS),
});

/**
 * Fills in the defaults.
 * @throws InvalidOptionError naming the option, its value and what is expected
 */
export function resolveOptions(given: PgQueueOptions = {}, where = 'PgQueueModule'): ResolvedOptions {
  const options = checkOptions(given, where);
  const worker = options.worker ?? true;
  if (options.notify === false && options.listenUrl !== undefined) {
    throw new InvalidOptionError(`${where}.listenUrl`, '…', 'no listenUrl, as notify is false');
  }
  return Object.freeze({
    dataSource: options.dataSource,
    schema: options.schema ?? DEFAULT_SCHEMA,
    migrationsRun: options.migrationsRun ?? true,
    worker: worker === false ? false : { ...DEFAULT_WORKER, ...(worker === true ? {} : (worker as object)) },
    notify: options.notify ?? true,
    listenUrl: options.listenUrl,
    retention: {
      successful: options.retention?.successful ?? DEFAULT_RETENTION.successful,
      failed: options.retention?.failed ?? DEFAULT_RETENTION.failed,
    },
    transaction: options.transaction,
    defaults: resolveRun(options.defaults, { retry: DEFAULT_RETRY, timeout: undefined, onFailure: 'hold' }),
  });
}

/** Checked options over what holds by default. */
export function resolveRun(given: RunOptions = {}, defaults: RunPolicy): RunPolicy {
  return {
    retry: { ...defaults.retry, ...given.retry },
    timeout: given.timeout ?? defaults.timeout,
    onFailure: given.onFailure ?? defaults.onFailure,
  };
}

/** @throws InvalidOptionError */
export function resolveSchema(given: { schema?: string }, where: string): string {
  return fields<{ schema: string }>({ schema: checkSchema })(given, where).schema ?? DEFAULT_SCHEMA;
}

// The value isn't shown, as there may be a password in it.
function checkUrl(value: unknown, option: string): string {
  if (typeof value === 'string' && /^postgres(ql)?:\/\//.test(value) && URL.canParse(value)) return value;
  throw new InvalidOptionError(
    option,
    typeof value === 'string' ? '…' : value,
    'a URL such as postgresql://user@host:5432/database',
  );
}

const IDENTIFIER_BYTES = 63;

function checkSchema(value: unknown, option: string): string {
  const expected = `the name of a schema: 1 to ${IDENTIFIER_BYTES} bytes, not beginning with 'pg_'`;
  if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > IDENTIFIER_BYTES) {
    throw new InvalidOptionError(option, value, expected);
  }
  if (value.startsWith('pg_') || value.includes('\0') || !value.isWellFormed()) {
    throw new InvalidOptionError(option, value, expected);
  }
  return value;
}

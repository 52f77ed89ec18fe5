import { CENTURY, isDelay } from './duration.js';

/** What every error of this package extends. `code` is stable: match on it rather than on a class or a message. */
export class PgQueueError extends Error {
  constructor(
    readonly code: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An option has a value that can't work. `PGQUEUE_INVALID_OPTION`. */
export class InvalidOptionError extends PgQueueError {
  constructor(
    readonly option: string,
    readonly value: unknown,
    expected: string,
  ) {
    super('PGQUEUE_INVALID_OPTION', `${option} is ${show(value)}; expected ${expected}`);
  }
}

/** `PgQueueWorker` is asked to run jobs in a process that only produces. `PGQUEUE_WORKER_DISABLED`. */
export class WorkerDisabledError extends PgQueueError {
  constructor(queue: string) {
    super(
      'PGQUEUE_WORKER_DISABLED',
      `The queue '${queue}' has worker: false. To start it by hand, set worker: { autoStart: false }`,
    );
  }
}

/** A payload or the headers of a job can't be written as JSON. `PGQUEUE_INVALID_PAYLOAD`. */
export class InvalidPayloadError extends PgQueueError {
  constructor(entrypoint: string, what: string, options?: { cause?: unknown }) {
    super('PGQUEUE_INVALID_PAYLOAD', `A job of '${entrypoint}' can't be stored: ${what}`, options);
  }
}

/** A job was enqueued with `onConflict: 'raise'`, and its key is taken. Nothing of that call was written. `PGQUEUE_DUPLICATE_JOB`. */
export class DuplicateJobError extends PgQueueError {
  constructor(
    readonly entrypoint: string,
    readonly dedupeKey: string,
    /** Of the job that has the key. `undefined`: it is another job of the same call. */
    readonly id: string | undefined,
  ) {
    const owner = id === undefined ? 'Another job of this call' : `Job ${id}, which is queued or runs,`;
    super('PGQUEUE_DUPLICATE_JOB', `${owner} has the entrypoint '${entrypoint}' and the dedupeKey ${show(dedupeKey)}`);
  }
}

/** No DataSource can be used, or none can be chosen. `PGQUEUE_DATA_SOURCE`. */
export class DataSourceError extends PgQueueError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('PGQUEUE_DATA_SOURCE', message, options);
  }
}

/** The `manager` given to an enqueue can't carry it: another database's, or its transaction is over. `PGQUEUE_MANAGER`. */
export class ManagerError extends PgQueueError {
  constructor(message: string) {
    super('PGQUEUE_MANAGER', message);
  }
}

export type SchemaErrorCode =
  | 'PGQUEUE_SCHEMA_MISSING'
  | 'PGQUEUE_SCHEMA_NEWER'
  | 'PGQUEUE_SCHEMA_DENIED'
  | 'PGQUEUE_SCHEMA_TAKEN'
  | 'PGQUEUE_SCHEMA_LOCKED';

/** The queue's schema is missing or older, newer than this package knows, not for this role, or holds others' tables. */
export class SchemaError extends PgQueueError {
  declare readonly code: SchemaErrorCode;
  constructor(code: SchemaErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, message, options);
  }
}

/** `@Entrypoint()` is used where it can't work, or two handlers share a name. `PGQUEUE_INVALID_ENTRYPOINT`. */
export class InvalidEntrypointError extends PgQueueError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('PGQUEUE_INVALID_ENTRYPOINT', message, options);
  }
}

/** Two modules share a queue's name. `PGQUEUE_DUPLICATE_QUEUE`. */
export class DuplicateQueueError extends PgQueueError {
  constructor(name: string) {
    super(
      'PGQUEUE_DUPLICATE_QUEUE',
      `PgQueueModule is imported twice with the name '${name}'. Import it once (it is global), ` +
        `or give the second one a name of its own: PgQueueModule.forRoot({ name: 'reports' })`,
    );
  }
}

/** Two queues would share their tables, and so run each other's jobs. `PGQUEUE_SHARED_SCHEMA`. */
export class SharedSchemaError extends PgQueueError {
  constructor(one: string, other: string, schema: string) {
    super(
      'PGQUEUE_SHARED_SCHEMA',
      `The queues '${one}' and '${other}' are both in the schema '${schema}' of one database, so each would run jobs of the ` +
        `other. Set the option schema of one of them`,
    );
  }
}

/** The queue was used after the application has shut down. `PGQUEUE_CLOSED`. */
export class QueueClosedError extends PgQueueError {
  constructor(name: string) {
    super('PGQUEUE_CLOSED', `The queue '${name}' is closed: its application has shut down`);
  }
}

/** `waitFor()` has waited for as long as it was told to; the job goes on. `PGQUEUE_WAIT_TIMEOUT`. */
export class WaitTimeoutError extends PgQueueError {
  constructor(
    readonly jobId: string,
    readonly timeout: number,
  ) {
    super('PGQUEUE_WAIT_TIMEOUT', `Job ${jobId} has not ended within ${timeout} ms. You may wait for it again`);
  }
}

/** `waitFor()` is asked for a job of which nothing is known, or no more. `PGQUEUE_UNKNOWN_JOB`. */
export class UnknownJobError extends PgQueueError {
  constructor(readonly jobId: string) {
    super(
      'PGQUEUE_UNKNOWN_JOB',
      `Job ${jobId} is unknown: it was deleted, or is no longer in the log, or the transaction that enqueued it is not ` +
        `committed. Wait after the commit, not inside the transaction`,
    );
  }
}

/** LISTEN has taken effect, and what is notified does not arrive. `PGQUEUE_DEAF`. */
export class DeafError extends PgQueueError {
  constructor() {
    super(
      'PGQUEUE_DEAF',
      'Notifications do not arrive, because the connection goes through a pooler in transaction mode. Set listenUrl to a ' +
        'direct connection, or notify to false; until then jobs wait for pollInterval',
    );
  }
}

/** Reason of `context.signal`: another worker may have taken over this job. What the handler returns is not recorded. */
export class ClaimLost extends PgQueueError {
  constructor(readonly claimId: string) {
    super('PGQUEUE_CLAIM_LOST', `Claim ${claimId} was lost: its heartbeat came too late, so its jobs were given away`);
  }
}

/** Reason of `context.signal`: the worker stops and `shutdownTimeout` is over. The job goes back to the queue. */
export class WorkerShutdown extends PgQueueError {
  constructor() {
    super('PGQUEUE_WORKER_SHUTDOWN', 'The worker is shutting down; the job goes back to the queue');
  }
}

/** Reason of `context.signal`: the handler has taken longer than its `timeout`. What it returns later is not recorded. */
export class JobTimeout extends PgQueueError {
  constructor(readonly timeout: number) {
    super('PGQUEUE_JOB_TIMEOUT', `The handler did not end within its timeout of ${timeout} ms`);
  }
}

/** Reason of `context.signal`: somebody has canceled the job. */
export class JobCanceled extends PgQueueError {
  constructor(readonly jobId: string) {
    super('PGQUEUE_JOB_CANCELED', `Job ${jobId} was canceled`);
  }
}

/**
 * Throw it in a handler to have the job run again without spending an attempt: `throw new RetryJob({ delay: 60_000 })`, when a
 * service says to come back later. `PGQUEUE_RETRY_JOB`.
 */
export class RetryJob extends PgQueueError {
  /** Milliseconds until then. `undefined`: as after a failure of this attempt. */
  readonly delay: number | undefined;
  readonly reason: string;

  /**
   * @param options.delay milliseconds. @default the delay of the retry policy
   * @throws InvalidOptionError
   */
  constructor({ delay, reason = 'The handler asked for another try', ...options }: RetryJobOptions = {}) {
    super('PGQUEUE_RETRY_JOB', reason, options);
    if (delay !== undefined && !isDelay(delay)) {
      throw new InvalidOptionError('RetryJob.delay', delay, `a number of milliseconds from 0 to ${CENTURY}`);
    }
    this.delay = delay;
    this.reason = reason;
  }
}

export interface RetryJobOptions {
  delay?: number | undefined;
  /** For the log. */
  reason?: string | undefined;
  cause?: unknown;
}

/**
 * Throw it in a handler when no further attempt can help: the job ends now, as after its last attempt.
 * `PGQUEUE_FAIL_JOB`.
 */
export class FailJob extends PgQueueError {
  constructor(
    readonly reason: string,
    options?: { cause?: unknown },
  ) {
    super('PGQUEUE_FAIL_JOB', reason, options);
  }
}

const SHOWN_LENGTH = 80;

function show(value: unknown): string {
  if (typeof value === 'string') return shorten(JSON.stringify(value));
  if (typeof value === 'function') return `a function`;
  if (Object.prototype.toString.call(value) === '[object Date]') return shorten(String(value));
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return shorten(String(value));
}

function shorten(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}… (${text.length} characters)` : text;
}

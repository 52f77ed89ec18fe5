import type { MigrationInterface } from 'typeorm';
import { MIGRATIONS } from '../../migrations/index.js';
import { resolveSchema } from '../options.js';

/**
 * The migrations of the queue's schema, for the `migrations` of your own `DataSource`. They and the module's own run share one
 * ledger, so both may be used.
 * @param options.schema as in the module's options. @default 'pgqueue'
 * @throws InvalidOptionError
 */
export function pgQueueMigrations(options: { schema?: string } = {}): (new () => MigrationInterface)[] {
  const schema = resolveSchema(options, 'pgQueueMigrations');
  return MIGRATIONS.map(
    (Migration) =>
      class extends Migration {
        constructor() {
          super(schema);
        }
      },
  );
}

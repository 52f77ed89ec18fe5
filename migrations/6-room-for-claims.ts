import { quoteLiteral } from '../lib/sql/names.js';
import { PgQueueMigration } from '../lib/sql/pg-queue-migration.js';

const FILLFACTOR = 'fillfactor=50';

/**
 * A claim writes its job anew, which adds an entry for each id to the primary key. Where its page has room for that, none has to be split
 * and logged. Pages that are there already stay as they are.
 */
export class RoomForClaims extends PgQueueMigration {
  readonly version = 6;

  constructor(schema: string) {
    super(schema, 'PgQueueRoomForClaims', 1764806400000);
  }

  protected apply(): readonly string[] {
    // Not where the owner has set it.
    return [this.when(`not exists (${this.options} where option ~ '^fillfactor=')`, `set (${FILLFACTOR})`)];
  }

  protected revert(): readonly string[] {
    return [this.when(`exists (${this.options} where option = '${FILLFACTOR}')`, 'reset (fillfactor)')];
  }

  private get index(): string {
    return `${this.names.schema}.job_pkey`;
  }

  private get options(): string {
    return `select from unnest((select reloptions from pg_class where oid = ${quoteLiteral(this.index)}::regclass)) as option`;
  }

  private when(condition: string, change: string): string {
    return `do ${quoteLiteral(`begin if ${condition} then alter index ${this.index} ${change}; end if; end`)}`;
  }
}

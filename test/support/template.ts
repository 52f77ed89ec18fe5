import { DataSource } from 'typeorm';
import { poolDatabase } from '../../lib/sql/database.js';
import { primaryPool } from '../../lib/sql/connections.js';
import { prepareSchema } from '../../lib/sql/migrate.js';
import { createNames } from '../../lib/sql/names.js';

/** Prepares the database that `createTestDatabase()` copies. `url` leads to it, fresh and empty. */
export async function installTemplate(url: string): Promise<void> {
  const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
  const db = poolDatabase(() => primaryPool(dataSource));
  await prepareSchema(db, createNames('pgqueue'), dataSource, true);
  await dataSource.destroy();
}

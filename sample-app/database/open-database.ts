import { DataSource, type DataSourceOptions } from 'typeorm';

// Any number will do that nothing else in the database locks.
const MIGRATION_LOCK = 20_261_129;

/** Connects and migrates. */
export async function openDatabase(options?: DataSourceOptions): Promise<DataSource> {
  if (!options) throw new Error('The database has no options');
  const dataSource = await new DataSource(options).initialize();
  try {
    await migrate(dataSource);
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
  return dataSource;
}

// TypeORM runs a migration twice when two processes start at the same time; here the second one waits for the first.
async function migrate(dataSource: DataSource): Promise<void> {
  await dataSource.transaction(async (manager) => {
    await manager.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await dataSource.runMigrations();
  });
}

import type { DataSource, EntityManager } from 'typeorm';
import { ManagerError } from '../domain/errors.js';
import { managerDatabase, type Database } from './database.js';

/** Whose managers are taken, and how errors call it. */
export interface ManagerOwner {
  readonly queue: string;
  readonly dataSource: DataSource;
}

/**
 * The connection of a manager's transaction; `undefined` when it has none, as `dataSource.manager`.
 * @param what errors call the manager
 * @throws ManagerError
 */
export async function openManager(
  manager: EntityManager,
  { queue, dataSource }: ManagerOwner,
  what = 'The manager',
): Promise<Database | undefined> {
  if (manager?.['@instanceof'] !== Symbol.for('EntityManager')) {
    throw new ManagerError(`${what} is no EntityManager. Give the one that transaction() hands to its callback`);
  }
  if (ownerOf(manager) !== dataSource) {
    throw new ManagerError(
      `The manager belongs to another DataSource than the queue '${queue}', so they can't share a transaction. ` +
        `Use a manager of the queue's DataSource, or set the option dataSource or dataSourceToken of PgQueueModule`,
    );
  }
  if (manager.queryRunner?.isReleased === true) {
    throw new ManagerError(
      'The transaction of the manager is over. Use it inside the callback of transaction(), and await what you do there',
    );
  }
  return managerDatabase(manager);
}

/**
 * As `openManager`, of a manager that has to be in a transaction.
 * @throws ManagerError
 */
export async function openTransaction(manager: EntityManager, owner: ManagerOwner): Promise<Database> {
  const db = await openManager(manager, owner);
  if (db !== undefined && manager.queryRunner?.isTransactionActive === true) return db;
  throw new ManagerError('The manager is in no transaction. Give the one that transaction() hands to its callback');
}

// TypeORM 1 renamed the property.
function ownerOf(manager: EntityManager): DataSource {
  return 'dataSource' in manager ? manager.dataSource : (manager as { connection: DataSource }).connection;
}

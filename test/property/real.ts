import { SqlAdmin } from '../../lib/client/sql-admin.js';
import type { PgQueueAdmin } from '../../lib/client/admin.js';
import type { Database } from '../../lib/sql/database.js';
import { names, openSession, type Session, type TestDatabase } from '../support/index.js';

/** The queue in PostgreSQL. */
export interface Real {
  readonly db: Database;
  readonly admin: PgQueueAdmin;
  /** Another connection, for a transaction that is open while others act. */
  readonly other: Session;
  /** Empties the queue. */
  reset(): Promise<void>;
  end(): Promise<void>;
}

// In the order of their ids, the first job of each sequence being 1, so that a counterexample can be read.
const EMPTY = `
  delete from ${names.job}; delete from ${names.claim}; delete from ${names.jobLog}; delete from ${names.entrypoint};
  delete from ${names.statisticDelta};
  select setval(pg_get_serial_sequence('${names.job}', 'id'), 1, false)`;

export async function openReal(database: TestDatabase): Promise<Real> {
  const [own, other] = await Promise.all([openSession(database), openSession(database)]);
  // What waits for the other connection would wait for ever.
  await own.db.query(`set lock_timeout = '250ms'`);
  return {
    db: own.db,
    admin: new SqlAdmin({ queue: 'default', db: own.db, names, notify: true }),
    other,
    reset: async () => {
      await other.rollback();
      await own.db.query(EMPTY);
    },
    end: async () => {
      await Promise.all([own.end(), other.end()]);
    },
  };
}

import { Pool } from 'pg';
import { type Database, poolDatabase } from '../../lib/sql/database.js';
import { eventually } from './eventually.js';
import type { TestDatabase } from './test-database.js';

/** One connection, whose transaction the test holds open for as long as it likes. */
export interface Session {
  readonly db: Database;
  readonly pid: number;
  begin(): Promise<unknown>;
  commit(): Promise<unknown>;
  rollback(): Promise<unknown>;
  end(): Promise<void>;
}

export async function openSession({ url }: TestDatabase): Promise<Session> {
  const pool = new Pool({ connectionString: url, application_name: 'session', max: 1, idleTimeoutMillis: 0 });
  const db = poolDatabase(() => pool);
  const [row] = await db.query('select pg_backend_pid() as pid');
  return {
    db,
    pid: Number(row?.['pid']),
    begin: () => db.query('begin isolation level read committed'),
    commit: () => db.query('commit'),
    rollback: () => db.query('rollback'),
    end: () => pool.end(),
  };
}

/** Resolves with the process id of the backend that waits for a lock with the claim or the settle of a worker. */
export function blockedBackend(database: TestDatabase, statement: 'claim' | 'settle'): Promise<number> {
  return eventually(async () => {
    const [row] = await database.query<{ pid: number }>(BLOCKED, [
      statement === 'claim' ? '%ids as materialized%' : '%input as%',
    ]);
    return row?.pid ?? false;
  });
}

const BLOCKED = `
  select pid from pg_catalog.pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like $1`;

import { Pool, type QueryResultRow } from 'pg';
import { asAdmin, uniqueName, urlOfDatabase } from './admin.js';
import { eventually } from './eventually.js';

export interface TestDatabase {
  readonly url: string;
  /** Connections of the test itself; `drop()` ends them. */
  readonly pool: Pool;
  /** The rows of one statement. */
  query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Removes the database. Fails, after having done so, when a connection to it was still open. */
  drop(): Promise<void>;
}

const LEAK_GRACE = 2_000;

/** A database of the caller's own with the queue's schema installed; `empty`: with nothing in it. */
export async function createTestDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const server = environment('PGQUEUE_TEST_SERVER');
  const template = empty ? 'template0' : environment('PGQUEUE_TEST_TEMPLATE');
  const name = uniqueName('pgqueue_test');
  await asAdmin(server, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`));
  const database = testDatabaseAt(urlOfDatabase(server, name));
  return { ...database, drop: () => dropDatabase(server, name, database.pool) };
}

/** The database at `url`, for who does not own it. */
export function testDatabaseAt(url: string): Omit<TestDatabase, 'drop'> {
  const pool = new Pool({ connectionString: url, application_name: 'test' });
  pool.on('error', () => undefined); // a server may go away under it
  const query = async <Row extends QueryResultRow>(sql: string, values?: unknown[]) =>
    (await pool.query<Row>(sql, values)).rows;
  return { url, pool, query };
}

function environment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: Jest's globalSetup has not run`);
  return value;
}

async function dropDatabase(server: string, name: string, pool: Pool): Promise<void> {
  await pool.end();
  await asAdmin(server, async (client) => {
    const connections = async () => (await client.query<Connection>(CONNECTIONS, [name])).rows;
    // A connection that was ended properly stays visible for a moment.
    const leaked = await eventually(async () => expectNone(await connections()), { timeout: LEAK_GRACE }).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
    if (leaked !== undefined) throw leaked;
  });
}

interface Connection extends QueryResultRow {
  application_name: string;
  state: string | null;
  query: string;
}

const CONNECTIONS = `
  SELECT application_name, state, query FROM pg_catalog.pg_stat_activity
  WHERE datname = $1 AND backend_type = 'client backend'`;

function expectNone(connections: Connection[]): void {
  if (connections.length === 0) return;
  const lines = connections.map((one) => `  '${one.application_name}', ${one.state}, last: ${one.query.trim()}`);
  throw new Error(`Connections to the test's database were left open:\n${lines.join('\n')}`);
}

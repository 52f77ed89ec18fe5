import type { ClientBase, Pool } from 'pg';
import type { EntityManager } from 'typeorm';
import type { Connections } from './pool-share.js';
import type { QueryLimits } from './query-limits.js';
import { AS_TEXT, meet, mistrust, nameOf, openSession, type Session, timeoutOf } from './session.js';
import { isAboutPreparation, isLockTimeout, sqlState } from './transient.js';

/** A row whose values are PostgreSQL's own text, so that no type parser of the application reaches ours. */
export type Row = Readonly<Record<string, string | null>>;

/** The only port to PostgreSQL. */
export interface Database {
  query(text: string, values?: readonly unknown[], limits?: QueryLimits): Promise<Row[]>;
  /** Runs `work` in a READ COMMITTED transaction of its own. */
  transaction<T>(work: (database: Database) => Promise<T>): Promise<T>;
}

async function run(
  client: Pool | ClientBase,
  text: string,
  values: readonly unknown[] = [],
  limits: QueryLimits = {},
  name?: string,
): Promise<Row[]> {
  const named = name === undefined ? {} : { name };
  const result = await client.query<Row>({ text, values: [...values], types: AS_TEXT, ...timeoutOf(limits), ...named });
  return result.rows;
}

/** Without a transaction around it where none is needed. */
async function runReadCommitted(
  client: ClientBase,
  { isReadCommitted }: Session,
  text: string,
  values?: readonly unknown[],
  limits?: QueryLimits,
): Promise<Row[]> {
  if (isReadCommitted) return run(client, text, values, limits);
  return inTransaction(client, (own) => own.query(text, values, limits));
}

async function runPrepared(
  client: ClientBase,
  session: Session,
  text: string,
  values?: readonly unknown[],
  limits?: QueryLimits,
): Promise<Row[]> {
  try {
    return await run(client, text, values, limits, nameOf(text));
  } catch (error) {
    if (!isAboutPreparation(error)) throw error;
    return runReadCommitted(client, mistrust(client, session), text, values, limits);
  }
}

export function poolDatabase(pool: () => Pool): Database {
  return {
    query: (text, values, limits) => run(pool(), text, values, limits),
    transaction: (work) => withClient(pool(), (client) => inTransaction(client, work)),
  };
}

/**
 * As `readCommittedDatabase`, over a pool that nobody else uses: all statements are prepared where its connections are direct.
 * Where one connection has got no answer, the idle ones beside it won't either: they are replaced, or each of them would have to
 * be found out by itself.
 */
export function ownDatabase(pool: Connections): Database {
  const query: Database['query'] = async (text, values, limits) => {
    try {
      return await withClient(pool, async (client) => {
        const session = await openSession(client, limits);
        return (session.isDirect ? runPrepared : runReadCommitted)(client, session, text, values, limits);
      });
    } catch (error) {
      if (sqlState(error) === undefined) await discardIdle(pool);
      throw error;
    }
  };
  return { query, transaction: (work) => withClient(pool, (client) => inTransaction(client, work)) };
}

async function discardIdle(pool: Connections): Promise<void> {
  // Whoever is idle is handed out at once.
  const idle = Array.from({ length: pool.ending ? 0 : pool.idleCount }, () => pool.connect());
  for (const each of await Promise.allSettled(idle)) if (each.status === 'fulfilled') each.value.release(true);
}

// A connection that breaks while it is checked out says so to its listeners too, and a process without one ends. The
// query that is under way, or the next one, fails with it.
const ignore = () => undefined;

/**
 * As `poolDatabase`, and READ COMMITTED whatever `default_transaction_isolation` says: skipping locked rows, and reading them
 * anew once locked, is what claims rest on. Where that is the default, a query needs no transaction around it.
 */
export function readCommittedDatabase(pool: () => Pool): Database {
  const query: Database['query'] = (text, values, limits) =>
    withClient(pool(), async (client) => {
      const session = await meet(client, limits);
      // A transaction around it would have to be ended, whatever becomes of what is prepared.
      const isPrepared = limits?.often === true && session.isDirect && session.isReadCommitted;
      return (isPrepared ? runPrepared : runReadCommitted)(client, session, text, values, limits);
    });
  return { query, transaction: (work) => withClient(pool(), (client) => inTransaction(client, work)) };
}

// The server must not keep a transaction, and the rows that it has locked, of a client that is gone without a word.
const BEGIN = `begin isolation level read committed; set local idle_in_transaction_session_timeout = '10s'`;

async function withClient<T>(pool: Connections, work: (client: ClientBase) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on('error', ignore);
  let isDoubtful = true;
  try {
    const result = await work(client);
    isDoubtful = false;
    return result;
  } catch (error) {
    isDoubtful = !isLockTimeout(error);
    throw error;
  } finally {
    client.off('error', ignore);
    // As the pool does after a query that failed: where this one led (to a standby, say) may be what is wrong.
    client.release(isDoubtful);
  }
}

async function inTransaction<T>(client: ClientBase, work: (database: Database) => Promise<T>): Promise<T> {
  try {
    await client.query(BEGIN);
    const result = await work(clientDatabase(client));
    await client.query('commit');
    return result;
  } catch (error) {
    // A connection whose server has not answered is busy with nobody knows what: a rollback would wait behind it.
    if (sqlState(error) !== undefined) await client.query('rollback').catch(ignore);
    throw error;
  }
}

/** One connection, in whatever transaction its owner has begun. */
export function clientDatabase(client: ClientBase): Database {
  const database: Database = {
    query: (text, values, limits) => run(client, text, values, limits),
    transaction: (work) => work(database),
  };
  return database;
}

/** The connection of a TypeORM manager's transaction. */
export async function managerDatabase(manager: EntityManager): Promise<Database | undefined> {
  if (manager.queryRunner === undefined) return undefined;
  return clientDatabase((await manager.queryRunner.connect()) as ClientBase);
}

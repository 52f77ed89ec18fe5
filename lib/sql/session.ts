import { createHash } from 'node:crypto';
import type { ClientBase, CustomTypesConfig } from 'pg';
import type { QueryLimits } from './query-limits.js';

/** What may be done on a connection that nobody else uses. */
export interface Session {
  /** It is the same backend each time, which keeps the statements that it has prepared. */
  readonly isDirect: boolean;
  readonly isReadCommitted: boolean;
}

const HELLO = `
  select pg_backend_pid()::text as pid, current_setting('default_transaction_isolation') as isolation`;

// A plan is made once, perhaps while the table is empty, and has to do for a million rows: by the indexes. PostgreSQL before 18
// takes a table without one for so expensive that it would compile the statement.
const SETTINGS = `
  select set_config(name, value, false)
  from (values
    ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('jit', 'off'),
    ('default_transaction_isolation', 'read committed')) as setting(name, value)`;

// So that no type parser of the application reaches ours. A pool with pg's option binary gives buffers; what is read through it is cast
// to text.
export const AS_TEXT: CustomTypesConfig = { getTypeParser: () => String };

const sessions = new WeakMap<ClientBase, Session>();

/** Learns what a connection is, when it is used for the first time. */
export async function meet(client: ClientBase, limits: QueryLimits = {}): Promise<Session> {
  return sessions.get(client) ?? remember(client, await greet(client, limits));
}

/** As `meet`, of a connection that is ours alone: its settings, too. */
export async function openSession(client: ClientBase, limits: QueryLimits = {}): Promise<Session> {
  const known = sessions.get(client);
  if (known !== undefined) return known;
  const { isDirect, isReadCommitted } = await greet(client, limits);
  if (isDirect) await client.query({ text: SETTINGS, ...timeoutOf(limits) });
  return remember(client, { isDirect, isReadCommitted: isDirect || isReadCommitted });
}

/** Its statements may meet another backend, or one whose owner has thrown away what was prepared. */
export function mistrust(client: ClientBase, session: Session): Session {
  return remember(client, { ...session, isDirect: false });
}

async function greet(client: ClientBase, limits: QueryLimits): Promise<Session> {
  const { rows } = await client.query<{ pid: string; isolation: string }>({
    text: HELLO,
    types: AS_TEXT,
    ...timeoutOf(limits),
  });
  // A pooler says hello with a process id of its own, and what is set there stays with whoever comes next.
  const isDirect = rows[0]?.pid === String((client as { processID?: number | null }).processID);
  return { isDirect, isReadCommitted: rows[0]?.isolation === 'read committed' };
}

function remember(client: ClientBase, session: Session): Session {
  sessions.set(client, session);
  return session;
}

/** pg takes the limit of a query beside its text, which its types don't say. */
export function timeoutOf({ timeout }: QueryLimits): { query_timeout?: number } {
  return timeout === undefined ? {} : { query_timeout: timeout };
}

const nameLength = 16;
const statementNames = new Map<string, string>();

/** The name under which a statement is prepared. */
export function nameOf(text: string): string {
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  const name = `pgqueue_${createHash('sha256').update(text).digest('hex').slice(0, nameLength)}`;
  statementNames.set(text, name);
  return name;
}

import { escapeLiteral, type Pool } from 'pg';
import type { Database } from '../../lib/sql/database.js';
import { nameOf } from '../../lib/sql/session.js';
import type { TestDatabase } from './test-database.js';

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Node[];
}

export interface Explained {
  /** Pages that the statement looked at, wherever they were. */
  readonly buffers: number;
  /** Rows that its busiest step looked at. */
  readonly rows: number;
  /** The kinds of its steps, such as `Seq Scan`. */
  readonly nodes: readonly string[];
  /** The tables that it read from their beginning to their end. */
  readonly readWhole: readonly string[];
}

/** Runs the first statement that `work` sends, and rolls it back. */
export async function explain({ pool }: TestDatabase, work: (db: Database) => Promise<unknown>): Promise<Explained> {
  const [text, values] = await firstStatement(work);
  return explainOn(pool, text, values);
}

/** As `explain`, by the plan under which the only connection of `pool` has prepared the statement. */
export async function explainPrepared(pool: Pool, work: (db: Database) => Promise<unknown>): Promise<Explained> {
  const [text, values] = await firstStatement(work);
  return explainOn(pool, `execute ${nameOf(text)} (${(values as Value[]).map(literalOf).join(', ')})`);
}

async function explainOn(pool: Pool, text: string, values?: unknown[]): Promise<Explained> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
    const nodes = flatten(rows[0]['QUERY PLAN'][0].Plan as Node);
    const whole = nodes.filter((node) => node['Node Type'] === 'Seq Scan');
    return {
      // Each node's count has those below it, but a changing step that nothing reads ends after the topmost.
      buffers: Math.max(...nodes.map(buffersOf)),
      rows: Math.max(...nodes.map(rowsOf)),
      nodes: nodes.map((node) => node['Node Type']),
      readWhole: whole.map((node) => node['Relation Name'] ?? ''),
    };
  } finally {
    await client.query('rollback');
    client.release();
  }
}

type Value = string | number | boolean | null | Buffer | (string | number | null)[];

// EXECUTE takes no parameters.
function literalOf(value: Value): string {
  if (value === null) return 'null';
  if (Buffer.isBuffer(value)) return literalOf(elementsOf(value));
  if (!Array.isArray(value)) return escapeLiteral(String(value));
  return escapeLiteral(`{${value.map((each) => (each === null ? 'null' : JSON.stringify(each))).join(',')}}`);
}

/** Of an array in the binary format. */
function elementsOf(array: Buffer): (string | null)[] {
  let offset = 20;
  return Array.from({ length: array.readInt32BE(12) }, () => {
    const length = array.readInt32BE(offset);
    const from = offset + 4;
    offset = from + Math.max(length, 0);
    return length < 0 ? null : array.toString('utf8', from, offset);
  });
}

async function firstStatement(work: (db: Database) => Promise<unknown>): Promise<[string, unknown[]]> {
  const statements: [string, unknown[]][] = [];
  const database: Database = {
    query: (text, values = []) => {
      statements.push([text, [...values]]);
      return Promise.resolve([]);
    },
    transaction: (inner) => inner(database),
  };
  await work(database);
  if (statements[0] === undefined) throw new Error('It has sent no statement');
  return statements[0];
}

const flatten = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flatten)];
const buffersOf = (node: Node) => node['Shared Hit Blocks'] + node['Shared Read Blocks'];

const rowsOf = (node: Node) =>
  node['Actual Loops'] *
  (node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0));

import type { Database } from '../../lib/sql/database.js';
import type { TestDatabase } from './test-database.js';

interface Node {
  'Node Type': string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Node[];
}

interface Explained {
  /** Pages that the statement looked at, wherever they were. */
  readonly buffers: number;
  /** The kinds of its steps, such as `Seq Scan`. */
  readonly nodes: readonly string[];
}

/** Runs the first statement that `work` sends, and rolls it back. */
export async function explain(database: TestDatabase, work: (db: Database) => Promise<unknown>): Promise<Explained> {
  const [text, values] = await firstStatement(work);
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
    const nodes = flatten(rows[0]['QUERY PLAN'][0].Plan as Node);
    // Each node's count has those below it, but a changing step that nothing reads ends after the topmost.
    return { buffers: Math.max(...nodes.map(buffersOf)), nodes: nodes.map((node) => node['Node Type']) };
  } finally {
    await client.query('rollback');
    client.release();
  }
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

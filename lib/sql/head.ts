import { headSql } from './claim-sql.js';
import type { Database, Row } from './database.js';
import type { Names } from './names.js';
import { integerOf, text } from './rows.js';

/** A job that could be claimed. */
export interface ReadyJob {
  readonly id: string;
  readonly entrypoint: string;
  readonly priority: number;
}

/** What is at the head of the queue. */
export interface Head {
  /** The most urgent first. */
  readonly jobs: readonly ReadyJob[];
  /** Milliseconds of the server; `undefined` where all entrypoints are paused. */
  readonly took: number | undefined;
}

/** Looks at up to `limit` jobs that claims of these entrypoints would win, and locks none. */
export async function readHead(
  db: Database,
  names: Names,
  entrypoints: readonly string[],
  limit: number,
): Promise<Head> {
  const rows = await db.query(headSql(names), [entrypoints, limit]);
  const jobs = rows.filter(({ id }) => id !== null).map(toReadyJob);
  const took = rows[0]?.['took'] ?? undefined;
  return { jobs, took: took === undefined ? undefined : Number(took) };
}

function toReadyJob(row: Row): ReadyJob {
  return { id: text(row, 'id'), entrypoint: text(row, 'entrypoint'), priority: integerOf(row, 'priority') };
}

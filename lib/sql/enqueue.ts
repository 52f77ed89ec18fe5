import type { ConflictPolicy } from '../domain/conflict-policy.js';
import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { integerOf, memberOf, text } from './rows.js';
import { jsonArray, textArray } from './array.js';

/** A job to insert. All is validated; `payload` and `headers` are JSON texts. */
export interface NewJob {
  readonly entrypoint: string;
  readonly payload: string | null;
  readonly headers: string | null;
  readonly priority: number;
  readonly maxAttempts: number | null;
  /** Milliseconds from the database's clock. */
  readonly delay: number;
  /** Milliseconds since 1970; wins over `delay`. */
  readonly runAt: number | null;
  readonly dedupeKey: string | null;
  readonly onConflict: ConflictPolicy;
}

const enqueueSql = statement(
  (names) => `
    select position, id::text, outcome
    from ${names.schema}.enqueue_jobs(
      $1::text[], $2::json[], $3::json[], $4::int[], $5::int[], $6::float8[], $7::float8[], $8::text[], $9::text[], $10::boolean)
    order by position`,
);

export interface InsertedJob {
  /** Of the job that was inserted, or of the one that has its key. `undefined`: a job of the same call would have had it. */
  readonly id: string | undefined;
  /** `refused`: its key is taken and `onConflict` is `'raise'`. Nothing was inserted then, and this is the only answer. */
  readonly outcome: InsertOutcome;
  /** Of the job in the call, from 0. */
  readonly index: number;
}

const INSERT_OUTCOMES = ['inserted', 'duplicate', 'replaced', 'refused'] as const;
export type InsertOutcome = (typeof INSERT_OUTCOMES)[number];

/** Inserts jobs in one statement: all or none. Arrays, so that any number takes ten parameters (the protocol allows 65,535). */
export async function insertJobs(
  db: Database,
  names: Names,
  jobs: readonly NewJob[],
  notify: boolean,
): Promise<InsertedJob[]> {
  const column = <K extends keyof NewJob>(key: K): NewJob[K][] => jobs.map((job) => job[key]);
  const hasKeys = jobs.some(({ dedupeKey }) => dedupeKey !== null);
  const rows = await db.query(enqueueSql(names), [
    textArray(column('entrypoint')),
    jsonArray(column('payload')),
    jsonArray(column('headers')),
    column('priority'),
    column('maxAttempts'),
    column('delay'),
    column('runAt'),
    hasKeys ? textArray(column('dedupeKey')) : null,
    hasKeys ? column('onConflict') : null,
    notify,
  ]);
  return rows.map((row) => ({
    id: row['id'] ?? undefined,
    outcome: memberOf(INSERT_OUTCOMES, text(row, 'outcome')),
    index: integerOf(row, 'position') - 1,
  }));
}

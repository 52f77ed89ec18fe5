import type { ConflictPolicy } from '../domain/conflict-policy.js';
import type { Database } from './database.js';
import { LATER, quoteLiteral, statement, type Names } from './names.js';
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

export const OFTEN = { often: true };

/** Inserts jobs in one statement: all or none. Arrays, so that any number takes ten parameters (the protocol allows 65,535). */
export function insertJobs(
  db: Database,
  names: Names,
  jobs: readonly NewJob[],
  notify: boolean,
): Promise<InsertedJob[]> {
  const hasKeys = jobs.some(({ dedupeKey }) => dedupeKey !== null);
  return hasKeys ? insertKeyed(db, names, jobs, notify) : insertPlain(db, names, jobs, notify);
}

const plainSql = statement(
  (names) => `
    select ${names.schema}.enqueue_plain(
      $1::text[], $2::json[], $3::json[], $4::int[], $5::int[], $6::float8[], $7::float8[], $8::boolean) as ids`,
);

// What enqueue_plain does, without its arrays. It is asked where a trigger has left the job out: it undoes the statement, and says why.
const DUE = `coalesce(
          timestamptz 'epoch' + $7::float8 * interval '1 ms', statement_timestamp() + $6::float8 * interval '1 ms')`;
const loneSql = statement(
  ({ job, schema, channel }) => `
    with inserted as (
      insert into ${job} (entrypoint, payload, headers, priority, max_attempts, run_at, created_at, wait)
      values ($1::text, $2::json, $3::json, $4::int, $5::int, ${DUE}, statement_timestamp(),
        case when ${DUE} > statement_timestamp() then 'later' else 'ready' end)
      returning id)
    select
      coalesce(
        (select id::text from inserted),
        ${schema}.enqueue_plain(
          array[$1::text], array[$2::json], array[$3::json], array[$4::int], array[$5::int], array[$6::float8],
          array[$7::float8], $8::boolean)) as id,
      case when $8::boolean then
        pg_notify(${quoteLiteral(channel)}, case when $6::float8 > 0 or $7::float8 is not null then '${LATER}' else '' end)
        end`,
);

async function insertLone(db: Database, names: Names, job: NewJob, notify: boolean): Promise<InsertedJob[]> {
  const { entrypoint, payload, headers, priority, maxAttempts, delay, runAt } = job;
  const values = [entrypoint, payload, headers, priority, maxAttempts, delay, runAt, notify];
  const [row = {}] = await db.query(loneSql(names), values, OFTEN);
  return [{ id: text(row, 'id'), outcome: 'inserted', index: 0 }];
}

async function insertPlain(db: Database, names: Names, jobs: readonly NewJob[], notify: boolean) {
  const [first, ...more] = jobs;
  if (first === undefined) return [];
  if (more.length === 0) return insertLone(db, names, first, notify);
  const headers = eachOrNone(jobs, (job) => job.headers);
  const [row] = await db.query(
    plainSql(names),
    [
      textArray(eachOrShared(jobs, (job) => job.entrypoint)),
      jsonArray(jobs.map((job) => job.payload)),
      headers && jsonArray(headers),
      eachOrShared(jobs, (job) => job.priority),
      eachOrNone(jobs, (job) => job.maxAttempts),
      eachOrShared(jobs, (job) => job.delay),
      eachOrNone(jobs, (job) => job.runAt),
      notify,
    ],
    OFTEN,
  );
  if (row === undefined) throw new Error('The insert returned no ids');
  const ids = text(row, 'ids').split(',');
  return ids.map((id, index): InsertedJob => ({ id, outcome: 'inserted', index }));
}

// One value where it is that of all: to write and to read arrays is a large part of the work.
function eachOrShared<T>(jobs: readonly NewJob[], valueOf: (job: NewJob) => T): T[] {
  const [first] = jobs.slice(0, 1).map(valueOf);
  return (jobs.every((job) => valueOf(job) === first) ? jobs.slice(0, 1) : jobs).map(valueOf);
}

function eachOrNone<T>(jobs: readonly NewJob[], valueOf: (job: NewJob) => T | null): (T | null)[] | null {
  return jobs.every((job) => valueOf(job) === null) ? null : jobs.map(valueOf);
}

const keyedSql = statement(
  (names) => `
    select position, id::text, outcome
    from ${names.schema}.enqueue_jobs(
      $1::text[], $2::json[], $3::json[], $4::int[], $5::int[], $6::float8[], $7::float8[], $8::text[], $9::text[], $10::boolean)
    order by position`,
);

async function insertKeyed(db: Database, names: Names, jobs: readonly NewJob[], notify: boolean) {
  const column = <K extends keyof NewJob>(key: K): NewJob[K][] => jobs.map((job) => job[key]);
  const rows = await db.query(
    keyedSql(names),
    [
      textArray(column('entrypoint')),
      jsonArray(column('payload')),
      jsonArray(column('headers')),
      column('priority'),
      column('maxAttempts'),
      column('delay'),
      column('runAt'),
      textArray(column('dedupeKey')),
      column('onConflict'),
      notify,
    ],
    OFTEN,
  );
  return rows.map((row): InsertedJob => ({
    id: row['id'] ?? undefined,
    outcome: memberOf(INSERT_OUTCOMES, text(row, 'outcome')),
    index: integerOf(row, 'position') - 1,
  }));
}

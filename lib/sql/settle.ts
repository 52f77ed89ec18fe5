import { assertNever } from '../domain/assert-never.js';
import { compareIds } from '../domain/job.js';
import { RECORDED_OUTCOMES, type Outcome, type RecordedOutcome } from '../domain/outcome.js';
import type { Database, Row } from './database.js';
import { statement, type Names } from './names.js';
import { memberOf, text } from './rows.js';
import { settleSql, succeedAtOnceSql, succeedSql } from './settle-sql.js';
import { isLockTimeout } from './transient.js';
import { arrayLiteral, jsonArray, textArray } from './array.js';

/** What became of one claimed job. */
export interface Settlement {
  readonly id: string;
  readonly claimId: string;
  readonly outcome: Outcome;
  /** Milliseconds that the handler ran. */
  readonly duration: number;
  /** Its success was written in a transaction of the handler, so that there is nothing left to settle unless that was undone. */
  readonly isCompleted?: boolean;
}

export interface SettleContext {
  readonly worker: string;
  readonly notify: boolean;
  /** Whether the log tells of successful attempts, too. If not, only of those that somebody waits for. @default true */
  readonly logSuccess?: boolean;
  /** Claims whose last job was settled before, and is committed: their rows are removed. @default [] */
  readonly ended?: readonly string[];
  /** Whether jobs are rarely locked, and it has no transaction around it: a locked one is then waited for a moment. @default false */
  readonly isQuick?: boolean;
}

export interface SettledJob {
  readonly id: string;
  readonly claimId: string;
  /** What was recorded. `undefined`: somebody holds the job locked, so it has to be settled again. */
  readonly outcome: RecordedOutcome | undefined;
}

export interface SettleAnswer {
  /** In the order in which they were given. What is missing belongs to others. */
  readonly jobs: readonly SettledJob[];
  /** Of the ended claims those that are removed. The others are locked, or gone. */
  readonly reaped: readonly string[];
  /** A quick one has met a job that was locked for too long. */
  readonly hasWaited: boolean;
}

/** Writes outcomes, each only while its job still belongs to its claim. */
export async function settleJobs(
  db: Database,
  names: Names,
  settlements: readonly Settlement[],
  { worker, notify, logSuccess = true, ended = [], isQuick = false }: SettleContext,
): Promise<SettleAnswer> {
  const areSimple = settlements.every(isSimple);
  const sorted = areSimple ? [...settlements].sort((a, b) => compareIds(a.id, b.id)) : settlements;
  // A job can be settled twice by one process: for a claim that was lost and for the one that followed.
  const isSearchable = areSimple && sorted.every(({ id }, index) => id !== sorted[index - 1]?.id);
  const claims = new Map<string, number>();
  for (const { claimId } of sorted) if (!claims.has(claimId)) claims.set(claimId, claims.size + 1);
  const ids = arrayLiteral(sorted.map(({ id }) => id));
  const claimOf = arrayLiteral(sorted.map(({ claimId }) => claims.get(claimId) ?? 0));
  const durations = arrayLiteral(sorted.map(({ duration }) => Math.round(duration * 1_000) / 1_000));
  const rest = [names.endChannel, logSuccess, arrayLiteral(ended), arrayLiteral([...claims.keys()])];
  const settleAll = async () => {
    const values = [ids, claimOf, ...columnsOf(sorted), durations, worker, names.channel, notify, ...rest];
    return { rows: await db.query(settleSql(names), values), hasWaited: false };
  };
  const { rows, hasWaited } = await (isSearchable
    ? succeed(db, names, [ids, claimOf, durations, worker, notify, ...rest], isQuick)
    : settleAll());
  const answers = rows.filter(({ outcome }) => outcome !== 'reaped');
  const removed = rows.filter(({ outcome }) => outcome === 'reaped').map((row) => text(row, 'claim_id'));
  return { jobs: answersTo(settlements, answers), reaped: removed, hasWaited };
}

interface Succeeded {
  readonly rows: readonly Row[];
  readonly hasWaited: boolean;
}

async function succeed(db: Database, names: Names, values: readonly unknown[], isQuick: boolean): Promise<Succeeded> {
  try {
    if (isQuick) return { rows: await db.query(succeedAtOnceSql(names), values), hasWaited: false };
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
  }
  return { rows: await db.query(succeedSql(names), values), hasWaited: isQuick };
}

function answersTo(settlements: readonly Settlement[], exceptions: readonly Row[]): SettledJob[] {
  if (exceptions.length === 0) {
    return settlements.map(({ id, claimId, outcome: { type } }) => ({ id, claimId, outcome: type }));
  }
  const answers = new Map(exceptions.map((row) => [`${text(row, 'claim_id')}/${text(row, 'id')}`, row]));
  return settlements.flatMap(({ id, claimId, outcome: { type } }) => {
    const row = answers.get(`${claimId}/${id}`);
    if (row === undefined) return { id, claimId, outcome: type };
    const outcome = recorded(row);
    return outcome === undefined && row['locked'] !== 't' ? [] : { id, claimId, outcome };
  });
}

const settledBySql = statement(
  (names) => `
    select from ${names.jobLog}
    where job_id = $1::bigint and claim_id = $2::uuid and status = 'successful' limit 1`,
);

/** Whether this claim has written the success of the job, also within the transaction of `db`. */
export async function isSettledBy(db: Database, names: Names, { id, claimId }: Settlement): Promise<boolean> {
  return (await db.query(settledBySql(names), [id, claimId])).length > 0;
}

function recorded(row: Row): RecordedOutcome | undefined {
  return row['outcome'] == null ? undefined : memberOf(RECORDED_OUTCOMES, row['outcome']);
}

function isSimple({ outcome }: Settlement): boolean {
  return outcome.type === 'successful' && outcome.result === undefined;
}

/** Outcomes, delays, whether they are free, errors, stacks and results. */
function columnsOf(settlements: readonly Settlement[]): unknown[] {
  const columns = settlements.map(({ outcome }) => partsOf(outcome));
  return [
    arrayLiteral(settlements.map(({ outcome }) => outcome.type)),
    arrayLiteral(columns.map(({ delay }) => delay)),
    arrayLiteral(columns.map(({ isFree }) => isFree)),
    textArray(columns.map(({ error }) => error)),
    textArray(columns.map(({ stack }) => stack)),
    jsonArray(columns.map(({ result }) => result)),
  ];
}

interface OutcomeParts {
  readonly delay: number;
  readonly isFree: boolean;
  readonly error: string | null;
  readonly stack: string | null;
  readonly result: string | null;
}

const NOTHING: OutcomeParts = { delay: 0, isFree: false, error: null, stack: null, result: null };

function partsOf(outcome: Outcome): OutcomeParts {
  switch (outcome.type) {
    case 'successful':
      return { ...NOTHING, result: outcome.result?.json ?? null, error: outcome.result?.note ?? null };
    case 'released':
      return { ...NOTHING, isFree: true };
    case 'failed':
    case 'canceled':
      return { ...NOTHING, error: outcome.error.message, stack: outcome.error.stack };
    case 'retried': {
      const { delay, isFree = false, error } = outcome;
      return { ...NOTHING, delay, isFree, error: error.message, stack: error.stack };
    }
    default:
      return assertNever(outcome);
  }
}

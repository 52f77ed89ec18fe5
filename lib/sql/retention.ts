import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { integerOf } from './rows.js';

const BATCH = 5_000;

/** Ages in milliseconds that rows of the log may reach. */
export interface LogAges {
  readonly successful: number;
  /** Of all others. */
  readonly failed: number;
}

/** Pages of the log's table, from the first up to, not including, the last. */
export interface LogPages {
  readonly from: number;
  readonly to: number;
}

// By pages and not by an index: a BRIN summary never shrinks, so once the room of what was pruned is used again, all of the table
// looks old to it. A range of pages costs the same whatever is in it. Measured on 700,000 rows after two turns of
// retention: to find nothing through the index read all 10,002 pages.
const pruneLogSql = statement(
  ({ jobLog }) => `
    with expired as materialized (
      select ctid from ${jobLog}
      where ctid >= $1::tid and ctid < $2::tid
        and ended_at < (select clock_timestamp())
          - case status when 'successful' then $3::float8 else $4::float8 end * interval '1 ms'
      limit ${BATCH} for update skip locked),
    pruned as (delete from ${jobLog} where ctid = any(array(select ctid from expired)) returning job_id)
    select count(*) as count from pruned`,
);

/** Deletes what is too old on these pages of the log. Returns whether there may be more. */
export async function pruneLog(db: Database, names: Names, { from, to }: LogPages, ages: LogAges): Promise<boolean> {
  const bounds = [`(${from},0)`, `(${to},0)`];
  const [row] = await db.query(pruneLogSql(names), [...bounds, ages.successful, ages.failed]);
  return row !== undefined && integerOf(row, 'count') === BATCH;
}

/** The size of the log's table, in pages. */
export async function countLogPages(db: Database, names: Names): Promise<number> {
  const [row] = await db.query(
    `select pg_relation_size($1::regclass) / current_setting('block_size')::bigint as pages`,
    [names.jobLog],
  );
  return row === undefined ? 0 : integerOf(row, 'pages');
}

const pruneStatisticsSql = statement(
  ({ statistic }) => `
    with expired as materialized (
      select ctid from ${statistic} where minute < (select clock_timestamp()) - $1::float8 * interval '1 ms'
      order by minute limit ${BATCH} for update skip locked),
    pruned as (delete from ${statistic} where ctid = any(array(select ctid from expired)) returning minute)
    select count(*) as count from pruned`,
);

/** Deletes statistics of more than `age` milliseconds ago. Returns whether there may be more. */
export async function pruneStatistics(db: Database, names: Names, age: number): Promise<boolean> {
  const [row] = await db.query(pruneStatisticsSql(names), [age]);
  return row !== undefined && integerOf(row, 'count') === BATCH;
}

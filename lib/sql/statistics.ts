import type { DurationStatistics, EntrypointStatistics } from '../domain/statistics.js';
import type { Database, Row } from './database.js';
import { bucketOf, durationOf } from './histogram.js';
import { statement, type Names } from './names.js';
import { dateOf, integerOf, milliseconds, text } from './rows.js';

const COUNTED = ['successful', 'retried', 'failed', 'exception', 'canceled', 'lost'] as const;
const MINUTE = `interval '1 minute'`;
const EPOCH = `timestamptz 'epoch'`;
const COLUMNS = COUNTED.join(', ');
const forEach = (sql: (outcome: string) => string) => COUNTED.map(sql).join(', ');

/**
 * The step of a settling statement that counts what it writes, so that both are committed or neither. It is a row for each
 * entrypoint: no two settles ever wait for the same one.
 * @param source a step with the columns `entrypoint` and `outcome`
 * @param columns of it, if it has them: the milliseconds that the handler ran, and whether it was successful, which is quicker to
 * look at than the outcome
 */
export function countAttempts(
  { statisticDelta }: Names,
  source: string,
  { duration, succeeds = `outcome = 'successful'` }: { duration?: string; succeeds?: string } = {},
): string {
  const durations =
    duration === undefined ? '' : `array_agg(${bucketOf(duration)}) filter (where ${duration} is not null)`;
  const is = (outcome: string) => (outcome === 'successful' ? succeeds : `not (${succeeds}) and outcome = '${outcome}'`);
  return `counted as (
      insert into ${statisticDelta} (minute, entrypoint, ${COLUMNS}, durations)
      select date_bin(${MINUTE}, statement_timestamp(), ${EPOCH}), entrypoint,
        ${forEach((outcome) => `count(*) filter (where ${is(outcome)})`)},
        ${durations === '' ? `'{}'` : `coalesce(${durations}, '{}')`}
      from ${source} where ${succeeds} or outcome <> 'released' group by entrypoint)`;
}

const FOLD_BATCH = 20_000;

// A histogram is summed bucket by bucket, and has none when no attempt has run.
const MERGED = `
          select coalesce(array_agg(bucket order by bucket), '{}'), coalesce(array_agg(count order by bucket), '{}')
          from (
            select bucket, sum(count)::integer as count
            from (
              select unnest(known.buckets) as bucket, unnest(known.bucket_counts) as count
              union all
              select unnest(excluded.buckets), unnest(excluded.bucket_counts)) as either
            group by bucket) as sums`;

// In the order of the key, for two that fold at once wait for each other's rows. What is taken is deleted by the same statement,
// and so is counted once; what commits later is found later.
const foldSql = statement(
  ({ statistic, statisticDelta }) => `
    with taken as materialized (
      select ctid from ${statisticDelta} limit ${FOLD_BATCH} for update skip locked),
    gone as materialized (
      delete from ${statisticDelta} where ctid = any(array(select ctid from taken))
      returning minute, entrypoint, ${COLUMNS}, durations),
    counts as (
      select minute, entrypoint, ${forEach((outcome) => `sum(${outcome})::integer as ${outcome}`)}
      from gone group by minute, entrypoint),
    spread as (
      select minute, entrypoint, bucket, count(*)::integer as count
      from gone cross join unnest(durations) as bucket group by minute, entrypoint, bucket),
    histograms as (
      select minute, entrypoint, array_agg(bucket order by bucket) as buckets, array_agg(count order by bucket) as bucket_counts
      from spread group by minute, entrypoint),
    folded as (
      insert into ${statistic} as known (minute, entrypoint, ${COLUMNS}, buckets, bucket_counts)
      select minute, entrypoint, ${COLUMNS}, coalesce(buckets, '{}'), coalesce(bucket_counts, '{}')
      from counts left join histograms using (minute, entrypoint)
      order by minute, entrypoint
      on conflict (minute, entrypoint) do update
      set ${forEach((outcome) => `${outcome} = known.${outcome} + excluded.${outcome}`)},
        (buckets, bucket_counts) = (${MERGED}))
    select count(*) as count from gone`,
);

/** Folds what was counted since into a row for each minute and entrypoint. Returns whether there is more. */
export async function foldStatistics(db: Database, names: Names): Promise<boolean> {
  const [row] = await db.query(foldSql(names));
  return row !== undefined && integerOf(row, 'count') === FOLD_BATCH;
}

/** A time to look at: all minutes that it touches. */
export interface StatisticsRange {
  readonly from: Date;
  readonly to: Date;
  /** Milliseconds that each entry spans, a multiple of a minute. The first begins with the minute of `from`. */
  readonly step: number;
}

const PERCENTILES = { p50: 0.5, p95: 0.95, p99: 0.99, max: 1 };

// In one statement, or what is folded meanwhile would be seen twice, or not at all.
const readSql = statement(
  ({ statistic, statisticDelta }) => `
    with range as materialized (
      select date_bin(${MINUTE}, ${EPOCH} + $1::float8 * interval '1 ms', ${EPOCH}) as first,
        ${EPOCH} + $2::float8 * interval '1 ms' as until, $3::float8 * interval '1 ms' as step),
    known as materialized (
      select date_bin(range.step, minute, range.first) as at, part.*
      from range cross join lateral (
        select minute, entrypoint, ${COLUMNS}, buckets, bucket_counts
        from ${statistic} where minute >= range.first and minute < range.until
        union all
        select minute, entrypoint, ${COLUMNS}, durations, array_fill(1, array[cardinality(durations)])
        from ${statisticDelta} where minute >= range.first and minute < range.until) as part),
    counts as (
      select at, entrypoint, ${forEach((outcome) => `sum(${outcome}) as ${outcome}`)}
      from known group by at, entrypoint),
    spread as (
      select at, entrypoint, bucket, sum(count) as count
      from known cross join unnest(buckets, bucket_counts) as histogram(bucket, count) group by at, entrypoint, bucket),
    ranked as (
      select at, entrypoint, bucket,
        sum(count) over (partition by at, entrypoint order by bucket) as rank,
        sum(count) over (partition by at, entrypoint) as total
      from spread),
    percentiles as (
      select at, entrypoint, ${Object.entries(PERCENTILES)
        .map(([name, share]) => `min(bucket) filter (where rank >= total * ${share}) as ${name}`)
        .join(', ')}
      from ranked group by at, entrypoint)
    select ${milliseconds('at')} as at, entrypoint, ${COLUMNS}, ${Object.keys(PERCENTILES).join(', ')}
    from counts left join percentiles using (at, entrypoint)
    order by at, entrypoint`,
);

/** What was counted in the minutes of a range, by step and entrypoint; steps without any attempt are left out. */
export async function readStatistics(
  db: Database,
  names: Names,
  { from, to, step }: StatisticsRange,
): Promise<EntrypointStatistics[]> {
  const rows = await db.query(readSql(names), [from.getTime(), to.getTime(), step]);
  return rows.map((row) => ({
    entrypoint: text(row, 'entrypoint'),
    at: dateOf(row, 'at'),
    successful: integerOf(row, 'successful'),
    retried: integerOf(row, 'retried'),
    failed: integerOf(row, 'failed'),
    exception: integerOf(row, 'exception'),
    canceled: integerOf(row, 'canceled'),
    lost: integerOf(row, 'lost'),
    duration: durationsOf(row),
  }));
}

function durationsOf(row: Row): DurationStatistics | undefined {
  if (row['p50'] == null) return undefined;
  const duration = (name: string) => durationOf(integerOf(row, name));
  return { p50: duration('p50'), p95: duration('p95'), p99: duration('p99'), max: duration('max') };
}

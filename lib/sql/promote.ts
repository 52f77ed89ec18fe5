import type { Database } from './database.js';
import { statement, type Names } from './names.js';
import { integerOf, milliseconds } from './rows.js';

/** A batch, and no loop over all: what is ready must not wait until the last of a million is. */
const PROMOTED_AT_ONCE = 500;

// The clock is read in a subselect, as a volatile function is no condition for an index: it would be asked of all later jobs.
// Notifies, because the rows may be of entrypoints that only others handle, who looked while they were locked here.
const promoteSql = statement(
  (names) => `
    with due as materialized (
      select id from ${names.job}
      where status = 'queued' and wait = 'later' and run_at <= (select clock_timestamp())
      order by run_at limit ${PROMOTED_AT_ONCE}
      for update skip locked),
    cleared as materialized (
      select id from ${names.job}
      where status = 'queued' and wait = 'alone' and run_at <= (select clock_timestamp()) - $3::float8 * interval '1 ms'
      order by run_at limit ${PROMOTED_AT_ONCE}
      for update skip locked),
    promoted as (
      update ${names.job} set wait = 'ready'
      where id = any(array(select id from due union all select id from cleared)) returning id),
    counted as materialized (select count(*) as count from promoted),
    notified as materialized (select pg_notify($1::text, '') from counted where $2::boolean and count > 0)
    select counted.count from counted left join notified on true`,
);

const first = ({ job }: Names, wait: 'ready' | 'alone') => `
        select from wanted cross join lateral (
          select id from ${job} where entrypoint = wanted.name and status = 'queued' and wait = '${wait}'
          order by priority desc, id limit 1) as first`;

// No row, and not min(): when nothing waits, greatest() would ignore its null and say 0.
// The order makes the planner take the index of those jobs, whatever its statistics say of others of that entrypoint.
// Paused ones can't be claimed: for them workers would stand still, and a drain would never end.
const outlookSql = statement(
  (names) => `
    with wanted as materialized (
      select * from unnest($1::text[]) as wanted(name)
      where not exists (
        select from ${names.entrypoint} as entrypoint where entrypoint.name = wanted.name and paused_at is not null)),
    later as materialized (
      select ${milliseconds('run_at - clock_timestamp()')} as wait
      from ${names.job} where status = 'queued' and wait = 'later' order by run_at limit 1)
    select
      (select ceil(greatest(0, wait)) from later) as next,
      exists (select from later where wait <= 0) or coalesce((
        select run_at <= clock_timestamp() - $2::float8 * interval '1 ms'
        from ${names.job} where status = 'queued' and wait = 'alone' order by run_at limit 1), false) as overdue,
      $5::boolean and exists (${first(names, 'ready')}) as ready,
      exists (${first(names, 'alone')}) as alone,
      exists (
        select from ${names.claim} where heartbeat_at <= clock_timestamp() - $3::float8 * interval '1 ms') as stale,
      exists (select from pg_listening_channels() as channel where channel = $4::text) as listening`,
);

export interface Promotion {
  /** Milliseconds after which a job that waits to run alone no longer does. */
  readonly suspicion: number;
  readonly notify: boolean;
}

/** Makes jobs whose time has come claimable, `PROMOTED_AT_ONCE` at the most. Returns how many. */
export async function promoteJobs(db: Database, names: Names, { suspicion, notify }: Promotion): Promise<number> {
  const [row] = await db.query(promoteSql(names), [names.channel, notify, suspicion]);
  return row === undefined ? 0 : integerOf(row, 'count');
}

export interface Outlook {
  /** Milliseconds until the next job is due, by the database's clock; `undefined` when none waits. */
  readonly next: number | undefined;
  /** Whether there is something to promote. */
  readonly overdue: boolean;
  /** Whether jobs of these entrypoints can be claimed; `false` when that was not asked. */
  readonly ready: boolean;
  /** Whether jobs of these entrypoints wait to run alone. */
  readonly alone: boolean;
  /** Whether there are claims that are no longer beaten. */
  readonly stale: boolean;
  /** Whether the connection that it was read on listens. */
  readonly listening: boolean;
}

export interface OutlookRequest {
  /** As that of a promotion. */
  readonly suspicion: number;
  readonly heartbeatTimeout: number;
  /** Whether to look for jobs that can be claimed, past all that is dead at the head of the queue. */
  readonly ready: boolean;
}

export async function readOutlook(
  db: Database,
  names: Names,
  entrypoints: readonly string[],
  { suspicion, heartbeatTimeout, ready }: OutlookRequest,
): Promise<Outlook> {
  const [row = {}] = await db.query(outlookSql(names), [
    entrypoints,
    suspicion,
    heartbeatTimeout,
    names.channel,
    ready,
  ]);
  const is = (name: string) => row[name] === 't';
  const { next = null } = row;
  return {
    next: next === null ? undefined : Number(next),
    overdue: is('overdue'),
    ready: is('ready'),
    alone: is('alone'),
    stale: is('stale'),
    listening: is('listening'),
  };
}

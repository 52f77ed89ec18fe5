import type { Database } from './database.js';
import { LATER, statement, type Names } from './names.js';

const pauseSql = statement(
  (names) => `
    with paused as (
      insert into ${names.entrypoint} as entrypoint (name, paused_at) values ($1::text, clock_timestamp())
      on conflict (name) do update set paused_at = excluded.paused_at where entrypoint.paused_at is null
      returning name)
    select name from paused`,
);

/** Returns whether it was not paused before. */
export async function pauseEntrypoint(db: Database, names: Names, name: string): Promise<boolean> {
  return (await db.query(pauseSql(names), [name])).length > 0;
}

const resumeSql = statement(
  (names) => `
    with resumed as (
      update ${names.entrypoint} set paused_at = null where name = $1::text and paused_at is not null returning name),
    notified as materialized (select pg_notify($2::text, '${LATER}') where $3::boolean and exists (select from resumed))
    select name from resumed left join notified on true`,
);

/** Returns whether it was paused before. */
export async function resumeEntrypoint(db: Database, names: Names, name: string, notify: boolean): Promise<boolean> {
  return (await db.query(resumeSql(names), [name, names.channel, notify])).length > 0;
}

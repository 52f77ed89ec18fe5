import type { Database } from './database.js';
import type { QueryLimits } from './query-limits.js';
import { statement, type Names } from './names.js';
import { text } from './rows.js';

// Nobody waits for a claim's row: one that a user's transaction holds must not stop the beats of all others.
// An id that is only locked is returned all the same.
const beatSql = statement(
  (names) => `
    with mine as materialized (
      select claim_id from ${names.claim} where claim_id = any($1::uuid[])
      order by claim_id for no key update skip locked),
    beaten as (
      update ${names.claim} set heartbeat_at = clock_timestamp() where claim_id = any(array(select claim_id from mine)))
    select claim_id, (
        select string_agg(id::text, ',') from ${names.job} as job
        where job.claim_id = claim.claim_id and job.cancel_requested) as canceled
    from ${names.claim} as claim where claim_id = any($1::uuid[])`,
);

export interface Beat {
  /** The claims that still exist. The others are lost. */
  readonly alive: ReadonlySet<string>;
  /** Their jobs that somebody has canceled. */
  readonly canceled: readonly { readonly id: string; readonly claimId: string }[];
}

/** Renews claims. */
export async function beatClaims(
  db: Database,
  names: Names,
  claimIds: readonly string[],
  limits?: QueryLimits,
): Promise<Beat> {
  const rows = await db.query(beatSql(names), [claimIds], limits);
  const canceled = rows.flatMap((row) => {
    const ids = row['canceled']?.split(',') ?? [];
    return ids.map((id) => ({ id, claimId: text(row, 'claim_id') }));
  });
  return { alive: new Set(rows.map((row) => text(row, 'claim_id'))), canceled };
}

// Looks at the jobs, not at what its caller believes: a claim whose row went before its jobs did would strand them.
const reapSql = statement(
  (names) => `
    with ended as materialized (
      select claim_id, job_ids from ${names.claim} where claim_id = any($1::uuid[])
      order by claim_id for update skip locked),
    reaped as (
      delete from ${names.claim} as claim using ended
      where claim.claim_id = any(array(select claim_id from ended)) and claim.claim_id = ended.claim_id
        and not exists (
          select from unnest(ended.job_ids) as member(id) cross join lateral (
            select from ${names.job} where id = member.id and claim_id = ended.claim_id limit 1) as job)
      returning claim.claim_id)
    select claim_id from reaped`,
);

/** Removes claims of which no job is left. Call it after the statement that settled their last jobs, never within it. */
export async function reapClaims(db: Database, names: Names, claimIds: readonly string[]): Promise<string[]> {
  const rows = await db.query(reapSql(names), [claimIds]);
  return rows.map((row) => text(row, 'claim_id'));
}

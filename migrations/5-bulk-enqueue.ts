import { quoteLiteral } from '../lib/sql/names.js';
import { PgQueueMigration } from '../lib/sql/pg-queue-migration.js';
import { createEnqueuePlain, insertEach } from './5-enqueue-plain.js';

const TYPES = 'text[], json[], json[], integer[], integer[], float8[], float8[], boolean';

// Nearly all that is written is dead a moment later, so tables that are small most of the time are vacuumed by the number of rows,
// and without pauses. They keep their pages for the next moment: to truncate a table would lock out those who work with it.
const SETTINGS = [
  'autovacuum_vacuum_scale_factor=0.01',
  'autovacuum_vacuum_threshold=2000',
  'autovacuum_vacuum_cost_delay=0',
  'vacuum_truncate=false',
] as const;
const TOAST_SETTING = 'toast.vacuum_truncate';

const STATUS_CHECK = `check (status in ('queued', 'picked', 'failed'))`;
const CLAIM_CHECK = `check ((status = 'picked') = (claim_id is not null))`;
// Both in one, for the most frequent status first.
const STATE_CHECK = `check (case
          when status = 'queued' then claim_id is null
          when status = 'picked' then claim_id is not null
          else status = 'failed' and claim_id is null end)`;

/** Old workers and producers may go on: what they call stays as it is. */
export class BulkEnqueue extends PgQueueMigration {
  readonly version = 5;

  constructor(schema: string) {
    super(schema, 'PgQueueBulkEnqueue', 1764720000000);
  }

  protected override changes(): readonly string[] {
    return [this.names.job];
  }

  protected apply(): readonly string[] {
    const { job, claim, schema } = this.names;
    return [
      createEnqueuePlain(this.names, insertEach(this.names)),
      // All rows fulfil it, as they did the others.
      `alter table ${job} drop constraint job_status_check, drop constraint job_claim_check,
        add constraint job_state_check ${STATE_CHECK} not valid`,
      // No two entries are alike, as the id is part of them: to look for such at each split of a page is in vain.
      `alter index ${schema}.job_ready set (deduplicate_items = off)`,
      ...[job, claim].map(setVacuum),
    ];
  }

  protected revert(): readonly string[] {
    const { job, claim, schema } = this.names;
    return [
      ...[job, claim].map(resetVacuum),
      `alter index ${schema}.job_ready reset (deduplicate_items)`,
      `alter table ${job} drop constraint job_state_check,
        add constraint job_status_check ${STATUS_CHECK} not valid, add constraint job_claim_check ${CLAIM_CHECK} not valid`,
      `drop function ${schema}.enqueue_plain(${TYPES})`,
    ];
  }
}

// Not where the owner of the table has settings of their own.
function setVacuum(table: string): string {
  return when(
    `not exists (
        select from pg_class c left join pg_class t on t.oid = c.reltoastrelid, unnest(c.reloptions || t.reloptions) as option
        where c.oid = ${quoteLiteral(table)}::regclass and option ~ '^(auto)?vacuum_')`,
    `alter table ${table} set (${SETTINGS.join(', ')}, ${TOAST_SETTING} = false)`,
  );
}

function resetVacuum(table: string): string {
  return when(
    `exists (
        select from pg_class where oid = ${quoteLiteral(table)}::regclass
        and reloptions @> array[${SETTINGS.map(quoteLiteral).join(', ')}])`,
    `alter table ${table} reset (${SETTINGS.map((each) => each.split('=')[0]).join(', ')}, ${TOAST_SETTING})`,
  );
}

function when(condition: string, statement: string): string {
  return `do ${quoteLiteral(`begin if ${condition} then ${statement}; end if; end`)}`;
}

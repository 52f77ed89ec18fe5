import { LATER, quoteLiteral } from '../lib/sql/names.js';
import { PgQueueMigration } from '../lib/sql/pg-queue-migration.js';

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
      this.createEnqueuePlain(),
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

  // Jobs without a key, as enqueue_jobs inserts them, for the price of little more than the insert. Columns whose values are alike
  // come as arrays of one element, or as null where they are the default; of payloads there are as many as jobs, and unnest pads the
  // others with nulls. Rows are inserted, and returned, in the order of their positions. An array of ids takes longer to write.
  private createEnqueuePlain(): string {
    const { schema, channel } = this.names;
    const body = `
      #variable_conflict use_column
      declare
        at_once timestamptz := clock_timestamp();
        due_by_default timestamptz := at_once + coalesce(delays[1], 0) * interval '1 ms';
        first_entrypoint text := entrypoints[1];
        first_priority integer := coalesce(priorities[1], 0);
        ids text;
        written bigint;
      begin
        ${this.insertInto('ids, written')};
        if written <> cardinality(payloads) then
          raise exception using errcode = '55000', message = format(
            'Of %s jobs %s were inserted', cardinality(payloads), written),
            hint = 'A trigger on the table has left out the others. Nothing of the call is written.';
        end if;
        if notify then
          perform pg_notify(${quoteLiteral(channel)}, case
            when exists (select from unnest($6, $7) as input(delay, run_at) where input.delay > 0 or input.run_at is not null)
            then '${LATER}' else '' end);
        end if;
        return ids;
      end`;
    return `
      create function ${schema}.enqueue_plain(
        entrypoints text[], payloads json[], headers json[], priorities integer[], max_attempts integer[], delays float8[],
        run_ats float8[], notify boolean) returns text
      language plpgsql as ${quoteLiteral(body)}`;
  }

  private insertInto(variables: string): string {
    return `
        with inserted as (
        insert into ${this.names.job} as job (entrypoint, payload, headers, priority, max_attempts, run_at, created_at, wait)
        select coalesce(input.entrypoint, first_entrypoint), input.payload, input.headers,
          coalesce(input.priority, first_priority), input.max_attempts, input.due_at, at_once,
          case when input.due_at > at_once then 'later' else 'ready' end
        from (
          select *, coalesce(
            timestamptz 'epoch' + input.run_at * interval '1 ms', at_once + input.delay * interval '1 ms',
            due_by_default) as due_at
          from unnest($1, $2, $3, $4, $5, $6, $7)
            with ordinality as input(entrypoint, payload, headers, priority, max_attempts, delay, run_at, position)
          order by input.position) as input
        returning job.id)
        select string_agg(inserted.id::text, ','), count(*) into ${variables} from inserted`;
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

import { quoteLiteral } from '../lib/sql/names.js';
import { PgQueueMigration } from '../lib/sql/pg-queue-migration.js';

const BULK_ARGUMENTS = [
  ['entrypoints', 'text[]'],
  ['payloads', 'json[]'],
  ['headers', 'json[]'],
  ['priorities', 'integer[]'],
  ['max_attempts', 'integer[]'],
  ['delays', 'float8[]'],
  ['run_ats', 'float8[]'],
  ['dedupe_keys', 'text[]'],
  ['on_conflicts', 'text[]'],
] as const;
const BULK = BULK_ARGUMENTS.map(([name, type]) => `${name} ${type}`).join(', ');
const BULK_TYPES = BULK_ARGUMENTS.map(([, type]) => type).join(', ');
const RESULT = 'table ("position" bigint, id bigint, outcome text)';

const ARGUMENTS = [
  ['priority', 'integer', '0'],
  ['delay', 'interval', 'null'],
  ['run_at', 'timestamptz', 'null'],
  ['dedupe_key', 'text', 'null'],
  ['on_conflict', 'text', `'skip'`],
  ['headers', 'jsonb', 'null'],
  ['max_attempts', 'integer', 'null'],
] as const;
const OPTIONS = ARGUMENTS.map(([name, type, value]) => `${name} ${type} default ${value}`).join(', ');
const OPTION_REFERENCES = ARGUMENTS.map((_, index) => `$${index + 3}`).join(', ');
const OPTION_TYPES = ARGUMENTS.map(([, type]) => type).join(', ');

/** As the producer checks, for those who call from SQL. */
const CHECKS = [
  ['coalesce(octet_length(entrypoint) not between 1 and 512, true)', 'entrypoint must be a name of 1 to 512 bytes'],
  ['octet_length(payload) > 10485760', 'payload must be JSON of at most 10485760 bytes'],
  [`jsonb_typeof(headers) <> 'object'`, 'headers must be a JSON object'],
  ['priority is null', 'priority must be an integer'],
  ['delay is not null and run_at is not null', 'give either delay or run_at, not both'],
  [`delay < interval '0'`, 'delay must not be negative'],
  ['max_attempts < 1', 'max_attempts must be at least 1'],
  ['octet_length(dedupe_key) not between 1 and 1024', 'dedupe_key must have 1 to 1024 bytes'],
  [`coalesce(on_conflict not in ('skip', 'raise', 'replace'), true)`, 'on_conflict must be skip, raise or replace'],
] as const;

const DUE_AT = `coalesce(
            timestamptz 'epoch' + input.run_at * interval '1 ms', clock_timestamp() + input.delay * interval '1 ms')`;
const WAIT = `case when due_at > clock_timestamp() then 'later' else 'ready' end`;
const REFUSED = 'PGQ01';

/** Enqueueing as functions: the producer, triggers and programs in other languages share their rules. */
export class EnqueueFunctions extends PgQueueMigration {
  readonly version = 3;

  constructor(schema: string) {
    super(schema, 'PgQueueEnqueueFunctions', 1764547200000);
  }

  protected apply(): readonly string[] {
    return [
      this.createEnqueueKeyed(),
      this.createInsertJobs(),
      this.createEnqueueJobs(),
      this.createEnqueue(),
      ...this.createOverloads(),
    ];
  }

  protected revert(): readonly string[] {
    const { schema } = this.names;
    return [
      ...['text', 'json', 'jsonb'].map((type) => `drop function ${schema}.enqueue(text, ${type}, ${OPTION_TYPES})`),
      `drop function ${schema}.enqueue_jobs(${BULK_TYPES}, boolean)`,
      `drop function ${schema}.insert_jobs(${BULK_TYPES})`,
      `drop function ${schema}.enqueue_keyed(text, json, json, integer, integer, timestamptz, text, text)`,
    ];
  }

  // Whoever inserts a key second waits for the first to commit. The job that has taken a key may end before it is looked at; then
  // the key is free again.
  private createEnqueueKeyed(): string {
    const { job, schema } = this.names;
    return `
      create function ${schema}.enqueue_keyed(
        entrypoint text, payload json, headers json, priority integer, max_attempts integer, due_at timestamptz, dedupe_key text,
        on_conflict text, out id bigint, out outcome text)
      language plpgsql as $function$
      #variable_conflict use_column
      begin
        loop
          insert into ${job} as job (
            entrypoint, payload, headers, priority, max_attempts, run_at, dedupe_key, wait)
          values ($1, $2, $3, $4, $5, $6, $7, ${WAIT})
          on conflict (entrypoint, dedupe_key) where dedupe_key is not null and status in ('queued', 'picked') do nothing
          returning job.id, 'inserted' into id, outcome;
          exit when id is not null;
          if on_conflict = 'replace' then
            update ${job} as job
            set payload = $2, headers = $3, priority = $4, max_attempts = $5, run_at = $6, wait = ${WAIT}, attempt = 0
            where job.entrypoint = $1 and job.dedupe_key = $7 and job.status = 'queued'
            returning job.id, 'replaced' into id, outcome;
            exit when id is not null;
          end if;
          select job.id, case on_conflict when 'raise' then 'refused' else 'duplicate' end into id, outcome
          from ${job} as job
          where job.entrypoint = $1 and job.dedupe_key = $7 and job.status in ('queued', 'picked');
          exit when id is not null;
        end loop;
      end
      $function$`;
  }

  private insertPlain(): string {
    const { job } = this.names;
    return `
        with input as (
          select *, ${DUE_AT} as due_at
          from unnest($1, $2, $3, $4, $5, $6, $7, coalesce($8, array_fill(null::text, array[cardinality($1)])))
            with ordinality as input(entrypoint, payload, headers, priority, max_attempts, delay, run_at, dedupe_key, position)
          where input.dedupe_key is null),
        inserted as (
          insert into ${job} as job (entrypoint, payload, headers, priority, max_attempts, run_at, wait)
          select input.entrypoint, input.payload, input.headers, input.priority, input.max_attempts, due_at, ${WAIT}
          from input order by input.position
          returning job.id)
        select input.position, inserted.id, 'inserted'
        from (select input.position, row_number() over (order by input.position) as nth from input) as input
        join (select inserted.id, row_number() over (order by inserted.id) as nth from inserted) as inserted using (nth);`;
  }

  // Keys are taken in their order, or two calls that share some could deadlock.
  private createInsertJobs(): string {
    const { schema } = this.names;
    return `
      create function ${schema}.insert_jobs(${BULK}) returns ${RESULT}
      language plpgsql as $function$
      #variable_conflict use_column
      declare
        taken record;
      begin
        return query ${this.insertPlain()}
        if dedupe_keys is null then return; end if;
        for taken in
          select *, ${DUE_AT} as due_at
          from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
            with ordinality as input(
              entrypoint, payload, headers, priority, max_attempts, delay, run_at, dedupe_key, on_conflict, position)
          where input.dedupe_key is not null
          order by input.dedupe_key, input.entrypoint, input.position
        loop
          position := taken.position;
          select keyed.id, keyed.outcome into id, outcome
          from ${schema}.enqueue_keyed(
            taken.entrypoint, taken.payload, taken.headers, taken.priority, taken.max_attempts, taken.due_at, taken.dedupe_key,
            taken.on_conflict) as keyed;
          if outcome = 'refused' then
            raise exception using errcode = '${REFUSED}', message = jsonb_build_array(position, id)::text;
          end if;
          return next;
        end loop;
      end
      $function$`;
  }

  // A job that is refused undoes the whole call and leaves the caller's transaction as it was. That takes a block with a handler,
  // for which other calls don't pay.
  private createEnqueueJobs(): string {
    const { schema, channel } = this.names;
    return `
      create function ${schema}.enqueue_jobs(${BULK}, notify boolean) returns ${RESULT}
      language plpgsql as $function$
      declare
        refused jsonb;
      begin
        if 'raise' = any(on_conflicts) then
          begin
            return query select * from ${schema}.insert_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9);
          exception when sqlstate '${REFUSED}' then
            refused := sqlerrm;
            return query select (refused->>0)::bigint, (refused->>1)::bigint, 'refused';
            return;
          end;
        else
          return query select * from ${schema}.insert_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9);
        end if;
        if notify then
          perform pg_notify(${quoteLiteral(channel)}, '');
        end if;
      end
      $function$`;
  }

  private createEnqueue(): string {
    const { schema } = this.names;
    return `
      create function ${schema}.enqueue(entrypoint text, payload text default null, ${OPTIONS}) returns bigint
      language plpgsql as $function$
      declare
        enqueued record;
      begin
        ${CHECKS.map(([isWrong, message]) => `if ${isWrong} then raise exception using errcode = '22023', message = ${quoteLiteral(message)}; end if;`).join('\n        ')}
        select * into enqueued from ${schema}.enqueue_jobs(
          array[entrypoint], array[payload::json], array[headers::json], array[priority], array[max_attempts],
          array[coalesce(extract(epoch from delay) * 1000, 0)::float8], array[(extract(epoch from run_at) * 1000)::float8],
          case when dedupe_key is not null then array[dedupe_key] end, array[on_conflict], true);
        if enqueued.outcome = 'refused' then
          raise unique_violation using message = format(
            'Job %s of entrypoint %s has the dedupe_key %s, and on_conflict is raise', enqueued.id, entrypoint, dedupe_key);
        end if;
        return enqueued.id;
      end
      $function$`;
  }

  // A literal counts as text, so that none is ambiguous.
  private createOverloads(): readonly string[] {
    const { schema } = this.names;
    return ['json', 'jsonb'].map(
      (type) => `
      create function ${schema}.enqueue(entrypoint text, payload ${type}, ${OPTIONS}) returns bigint
      language sql as $function$ select ${schema}.enqueue($1, $2::text, ${OPTION_REFERENCES}) $function$`,
    );
  }
}

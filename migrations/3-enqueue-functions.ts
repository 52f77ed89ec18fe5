import { quoteLiteral } from '../lib/sql/names.js';
import { PgQueueMigration } from '../lib/sql/pg-queue-migration.js';
import { createEnqueue, dropEnqueue, notifyOfJobs } from './3-enqueue.js';

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

const DUE_AT = `coalesce(
            timestamptz 'epoch' + input.run_at * interval '1 ms', clock_timestamp() + input.delay * interval '1 ms')`;
const WAIT = `case when due_at > clock_timestamp() then 'later' else 'ready' end`;
const REFUSED = 'PGQ01';
// A key is seldom taken and freed again more than once while one looks.
const ROUNDS = 100;

/** Enqueueing as functions: the producer, triggers and programs in other languages share their rules. */
export class EnqueueFunctions extends PgQueueMigration {
  readonly version = 3;

  constructor(schema: string) {
    super(schema, 'PgQueueEnqueueFunctions', 1764547200000);
  }

  protected apply(): readonly string[] {
    return [this.createEnqueueKeyed(), this.createInsertJobs(), this.createEnqueueJobs(), ...createEnqueue(this.names)];
  }

  protected revert(): readonly string[] {
    const { schema } = this.names;
    return [
      ...dropEnqueue(this.names),
      `drop function ${schema}.enqueue_jobs(${BULK_TYPES}, boolean)`,
      `drop function ${schema}.insert_jobs(${BULK_TYPES})`,
      `drop function ${schema}.enqueue_keyed(text, json, json, integer, integer, timestamptz, text, text)`,
    ];
  }

  // Whoever inserts a key second waits for the first to commit. The job that has taken a key may end before it is looked at; then
  // the key is free again. A plan that was made while the table was small would read all of it for as long as the session lives.
  private createEnqueueKeyed(): string {
    const { job, schema } = this.names;
    const body = `
      #variable_conflict use_column
      begin
        for round in 1..${ROUNDS} loop
          insert into ${job} as job (
            entrypoint, payload, headers, priority, max_attempts, run_at, dedupe_key, wait)
          values ($1, $2, $3, $4, $5, $6, $7, ${WAIT})
          on conflict (entrypoint, dedupe_key) where dedupe_key is not null and status in ('queued', 'picked') do nothing
          returning job.id, 'inserted' into id, outcome;
          exit when id is not null;
          if on_conflict = 'replace' then
            update ${job} as job
            set payload = $2, headers = $3, priority = $4, max_attempts = $5, run_at = $6, wait = ${WAIT}, attempt = 0,
              losses = 0
            where job.entrypoint = $1 and job.dedupe_key = $7 and job.status = 'queued'
            returning job.id, 'replaced' into id, outcome;
            exit when id is not null;
          end if;
          select job.id, case on_conflict when 'raise' then 'refused' else 'duplicate' end into id, outcome
          from ${job} as job
          where job.entrypoint = $1 and job.dedupe_key = $7 and job.status in ('queued', 'picked');
          exit when id is not null;
        end loop;
        if id is null then
          raise exception using errcode = '55000', message = format(
            'The job of entrypoint %s with the dedupe_key %s was neither written nor found', $1, $7),
            hint = 'A trigger on the table, or row-level security, hides it.';
        end if;
      end`;
    return `
      create function ${schema}.enqueue_keyed(
        entrypoint text, payload json, headers json, priority integer, max_attempts integer, due_at timestamptz, dedupe_key text,
        on_conflict text, out id bigint, out outcome text)
      language plpgsql set enable_seqscan = off as ${quoteLiteral(body)}`;
  }

  // Ids rise in the order of the inserts, so the nth id is that of the nth job without a key. A join would say so too, and take
  // hours: of arrays that are parameters the planner expects ten elements.
  private insertPlain(): string {
    const { job } = this.names;
    return `
        with input as (
          select *, ${DUE_AT} as due_at
          from unnest($1, $2, $3, $4, $5, $6, $7, $8)
            with ordinality as input(entrypoint, payload, headers, priority, max_attempts, delay, run_at, dedupe_key, position)
          where input.dedupe_key is null),
        inserted as (
          insert into ${job} as job (entrypoint, payload, headers, priority, max_attempts, run_at, wait)
          select input.entrypoint, input.payload, input.headers, input.priority, input.max_attempts, due_at, ${WAIT}
          from input order by input.position
          returning job.id)
        select coalesce(plain[numbered.nth], numbered.nth), numbered.id, 'inserted'
        from (select inserted.id, row_number() over (order by inserted.id) as nth from inserted) as numbered`;
  }

  // Keys are taken in their order, or two calls that share some could deadlock.
  private createInsertJobs(): string {
    const { schema } = this.names;
    const body = `
      #variable_conflict use_column
      declare
        plain bigint[];
        taken record;
        own bigint;
      begin
        if dedupe_keys is not null then
          plain := array(
            select input.position from unnest($8) with ordinality as input(dedupe_key, position)
            where input.dedupe_key is null order by input.position);
        end if;
        return query ${this.insertPlain()};
        if dedupe_keys is null then return; end if;
        for taken in
          select *, ${DUE_AT} as due_at
          from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
            with ordinality as input(
              entrypoint, payload, headers, priority, max_attempts, delay, run_at, dedupe_key, on_conflict, position)
          where input.dedupe_key is not null
          order by input.dedupe_key collate "C", input.entrypoint collate "C", input.position
        loop
          position := taken.position;
          select keyed.id, keyed.outcome into id, outcome
          from ${schema}.enqueue_keyed(
            taken.entrypoint, taken.payload, taken.headers, taken.priority, taken.max_attempts, taken.due_at, taken.dedupe_key,
            taken.on_conflict) as keyed;
          if outcome = 'inserted' then own := id; end if;
          if outcome = 'refused' then
            raise exception using errcode = '${REFUSED}', message = jsonb_build_array(position, nullif(id, own))::text;
          end if;
          return next;
        end loop;
      end`;
    return `
      create function ${schema}.insert_jobs(${BULK}) returns ${RESULT}
      language plpgsql as ${quoteLiteral(body)}`;
  }

  // A job that is refused undoes the whole call and leaves the caller's transaction as it was. That takes a block with a handler,
  // for which other calls don't pay. It comes back without an id when the key was taken by the same call, which is undone.
  private createEnqueueJobs(): string {
    const { schema, channel } = this.names;
    const body = `
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
        ${notifyOfJobs(channel)}
      end`;
    return `
      create function ${schema}.enqueue_jobs(${BULK}, notify boolean) returns ${RESULT}
      language plpgsql as ${quoteLiteral(body)}`;
  }
}

import { type Names, quoteLiteral } from '../lib/sql/names.js';
import { notifyOfJobs } from './3-enqueue.js';

/**
 * Jobs without a key, as enqueue_jobs inserts them, for the price of little more than the insert. Columns whose values are alike
 * come as arrays of one element, or as null where they are the default; of payloads there are as many as jobs.
 * @param insert what inserts them, and puts their ids, separated by commas, and their number into `ids` and `written`
 */
export function createEnqueuePlain({ schema, channel }: Names, insert: string): string {
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
        ${insert};
        if written <> cardinality(payloads) then
          raise exception using errcode = '55000', message = format(
            'Of %s jobs %s were inserted', cardinality(payloads), written),
            hint = 'A trigger on the table has left out the others. Nothing of the call is written.';
        end if;
        ${notifyOfJobs(channel)}
        return ids;
      end`;
  return `create or replace function ${schema}.enqueue_plain(
        entrypoints text[], payloads json[], headers json[], priorities integer[], max_attempts integer[], delays float8[],
        run_ats float8[], notify boolean) returns text
      language plpgsql as ${quoteLiteral(body)}`;
}

/**
 * Each with its own values: unnest pads shorter arrays with nulls. Rows are inserted, and returned, in the order of their positions. An
 * array of ids takes longer to write.
 */
export function insertEach({ job }: Names): string {
  return `
        with inserted as (
        insert into ${job} as job (entrypoint, payload, headers, priority, max_attempts, run_at, created_at, wait)
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
        select string_agg(inserted.id::text, ','), count(*) into ids, written from inserted`;
}

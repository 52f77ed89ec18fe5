import { LATER, quoteLiteral, type Names } from '../lib/sql/names.js';

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
  ['octet_length(payload::text) > 10485760', 'payload must be JSON of at most 10485760 bytes'],
  [`jsonb_typeof(headers) <> 'object'`, 'headers must be a JSON object'],
  ['octet_length(headers::text) > 10485760', 'headers must be JSON of at most 10485760 bytes'],
  ['priority is null', 'priority must be an integer'],
  ['delay is not null and run_at is not null', 'give either delay or run_at, not both'],
  [`delay not between interval '0' and interval '100 years'`, 'delay must be from 0 to 100 years'],
  [
    `run_at not between timestamptz '4001-01-01 00:00:00+00 BC' and timestamptz '9999-12-31 23:59:59.999999+00'`,
    'run_at must be before the year 10000, and not -infinity',
  ],
  ['max_attempts < 1', 'max_attempts must be at least 1'],
  [
    'octet_length(dedupe_key) not between 1 and 1024',
    'dedupe_key must have 1 to 1024 bytes (hash a longer one), or be null for none',
  ],
  [`coalesce(on_conflict not in ('skip', 'raise', 'replace'), true)`, 'on_conflict must be skip, raise or replace'],
  [`on_conflict <> 'skip' and dedupe_key is null`, 'on_conflict needs a dedupe_key beside it'],
] as const;
const NO_JSON =
  'payload must be JSON, such as {"id": 1} or, for a text, "it" in double quotes: to_json(it) makes JSON of any value';

/** `enqueue(entrypoint, payload, …)` for whoever speaks SQL: for a payload that is json, jsonb, or a text of JSON. */
export function createEnqueue(names: Names): readonly string[] {
  return [createFromJson(names), ...createOverloads(names)];
}

/** Of jobs whose delays and times are the 6th and the 7th argument, where the argument `notify` asks for it. */
export function notifyOfJobs(channel: string): string {
  return `if notify then
          perform pg_notify(${quoteLiteral(channel)}, case
            when exists (select from unnest($6, $7) as input(delay, run_at) where input.delay > 0 or input.run_at is not null)
            then '${LATER}' else '' end);
        end if;`;
}

export function dropEnqueue({ schema }: Names): readonly string[] {
  return ['text', 'json', 'jsonb'].map((type) => `drop function ${schema}.enqueue(text, ${type}, ${OPTION_TYPES})`);
}

function createFromJson(names: Names): string {
  const { schema } = names;
  const raise = (message: string) => `raise exception using errcode = '22023', message = ${quoteLiteral(message)}`;
  const body = `
      declare
        enqueued record;
      begin
        ${CHECKS.map(([isWrong, message]) => `if ${isWrong} then ${raise(message)}; end if;`).join('\n        ')}
        select * into enqueued from ${schema}.enqueue_jobs(
          array[entrypoint], array[payload], array[headers::json], array[priority], array[max_attempts], array[0::float8],
          array[(extract(epoch from coalesce(run_at, clock_timestamp() + delay)) * 1000)::float8],
          case when dedupe_key is not null then array[dedupe_key] end, array[on_conflict], true);
        if enqueued.outcome = 'refused' then
          raise unique_violation using message = format(
            'Job %s of entrypoint %s has the dedupe_key %s, and on_conflict is raise', enqueued.id, entrypoint, dedupe_key);
        end if;
        return enqueued.id;
      end`;
  return createOverload(names, 'json', 'plpgsql', body);
}

// A literal counts as text, so that none is ambiguous.
function createOverloads(names: Names): readonly string[] {
  const { schema } = names;
  const call = (payload: string) => `${schema}.enqueue($1, ${payload}, ${OPTION_REFERENCES})`;
  const fromText = `
      declare
        parsed json;
      begin
        begin
          parsed := $2;
        exception when invalid_text_representation or statement_too_complex then
          raise exception using errcode = '22023', message = ${quoteLiteral(NO_JSON)}, detail = sqlerrm;
        end;
        return ${call('parsed')};
      end`;
  return [
    createOverload(names, 'text', 'plpgsql', fromText, 'default null'),
    createOverload(names, 'jsonb', 'sql', `select ${call('$2::json')}`),
  ];
}

function createOverload(names: Names, type: string, language: string, body: string, byDefault = ''): string {
  return `
      create function ${names.schema}.enqueue(entrypoint text, payload ${type} ${byDefault}, ${OPTIONS}) returns bigint
      language ${language} as ${quoteLiteral(body)}`;
}

import type { DataSource } from 'typeorm';
import { SchemaError } from '../domain/errors.js';
import { MIGRATIONS } from '../../migrations/index.js';
import type { Database } from './database.js';
import type { Names } from './names.js';
import { integerOf } from './rows.js';

const KNOWN_VERSION = MIGRATIONS.length;

/** The version of the installed schema, 0 when there is none. */
export async function readVersion(db: Database, names: Names): Promise<number> {
  const [found] = await db.query(
    `select 1 as found from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1::text and c.relname = 'migration'`,
    [names.schemaName],
  );
  if (found === undefined) return 0;
  const [row] = await db.query(`select coalesce(max(version), 0)::text as version from ${names.migration}`);
  return row === undefined ? 0 : integerOf(row, 'version');
}

/**
 * Brings the schema to the version that this package knows, or, with `migrationsRun: false`, only checks it.
 * @throws SchemaError naming what is missing and what to do
 */
export async function prepareSchema(
  db: Database,
  names: Names,
  dataSource: DataSource,
  migrationsRun: boolean,
): Promise<void> {
  try {
    const version = await readVersion(db, names);
    if (version > KNOWN_VERSION) throw newer(names, version);
    if (version < KNOWN_VERSION && !migrationsRun) throw missing(names, version);
    if (version < KNOWN_VERSION) await migrate(dataSource, names);
    await checkGrants(db, names);
  } catch (error) {
    if (isDenied(error)) throw await denied(db, names, error);
    throw hasCode(error, TAKEN) ? taken(names, error) : error;
  }
}

async function migrate(dataSource: DataSource, names: Names): Promise<void> {
  const runner = dataSource.createQueryRunner('master');
  try {
    for (const Migration of MIGRATIONS) await new Migration(names.schemaName).up(runner);
  } finally {
    await runner.release();
  }
}

const RIGHTS = 'select, insert, update, delete';

// Found out at boot, not by the first job of the night.
async function checkGrants(db: Database, names: Names): Promise<void> {
  const rows = await db.query(
    `select name, "right" from unnest($1::text[]) as t(name), unnest($2::text[]) as r("right")
     where not has_table_privilege(name, "right")
     union all
     select p.oid::regprocedure::text, 'execute'
     from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     where n.nspname = $3::text and not has_function_privilege(p.oid, 'execute')`,
    [
      [names.job, names.claim, names.jobLog, names.entrypoint, names.statistic, names.statisticDelta],
      RIGHTS.split(', '),
      names.schemaName,
    ],
  );
  const [row] = rows;
  if (row !== undefined) throw await denied(db, names, new Error(`no right to ${row['right']} on ${row['name']}`));
}

const INSUFFICIENT_PRIVILEGE = ['42501'];
// Somebody's table has the name of one of ours: a duplicate table, or an undefined column.
const TAKEN = ['42P07', '42703'];

function isDenied(error: unknown): error is Error {
  return hasCode(error, INSUFFICIENT_PRIVILEGE);
}

function hasCode(error: unknown, codes: readonly string[]): error is Error {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

function taken(names: Names, cause: Error): SchemaError {
  return new SchemaError(
    'PGQUEUE_SCHEMA_TAKEN',
    `The schema ${names.schema} holds tables that are not the queue's (${cause.message}). Set the option schema to one of its own`,
    { cause },
  );
}

async function denied(db: Database, names: Names, cause: Error): Promise<SchemaError> {
  const [row] = await db.query(
    `select quote_ident(current_user) as role, quote_ident(current_database()) as database,
       (select true from pg_catalog.pg_namespace where nspname = $1::text) as exists`,
    [names.schemaName],
  );
  const { role, database, exists } = row ?? {};
  const install = exists == null ? `create on database ${database}` : `usage, create on schema ${names.schema}`;
  return new SchemaError(
    'PGQUEUE_SCHEMA_DENIED',
    `Role ${role} may not use the schema ${names.schema} as the queue needs it: ${cause.message}. ` +
      `To let it install the tables: grant ${install} to ${role}; ` +
      `to let it use those that another role has installed: grant usage on schema ${names.schema} to ${role}; ` +
      `grant ${RIGHTS} on all tables in schema ${names.schema} to ${role}; ` +
      `grant execute on all functions in schema ${names.schema} to ${role};`,
    { cause },
  );
}

function missing(names: Names, version: number): SchemaError {
  const what = version === 0 ? 'is not installed' : `is at version ${version}, older than version ${KNOWN_VERSION}`;
  return new SchemaError(
    'PGQUEUE_SCHEMA_MISSING',
    `The schema ${names.schema} ${what}, and migrationsRun is false. Add ...pgQueueMigrations({ schema: ` +
      `${JSON.stringify(names.schemaName)} }) to the migrations of your DataSource and run: ` +
      `npx typeorm migration:run -d path/to/data-source.js`,
  );
}

function newer(names: Names, version: number): SchemaError {
  return new SchemaError(
    'PGQUEUE_SCHEMA_NEWER',
    `The schema ${names.schema} is at version ${version}; this nestjs-pgqueue knows versions up to ${KNOWN_VERSION}. ` +
      `Deploy the newer nestjs-pgqueue here too`,
  );
}

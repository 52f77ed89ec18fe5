import { setTimeout as delay } from 'node:timers/promises';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { SchemaError } from '../domain/errors.js';
import { createNames, type Names } from './names.js';

/**
 * One version of the queue's schema. The ledger of versions lives in that schema and each migration writes it, so the module's
 * own run and the application's TypeORM run do the work once between them, in whatever order they come.
 */
export abstract class PgQueueMigration implements MigrationInterface {
  /** What TypeORM records. It ends with the timestamp by which TypeORM orders migrations. */
  readonly name: string;
  protected readonly names: Names;

  abstract readonly version: number;

  constructor(schema: string, title: string, timestamp: number) {
    this.names = createNames(schema);
    this.name = `${title}${schema === 'pgqueue' ? '' : `_${schema}_`}${timestamp}`;
  }

  /** The tables that `apply` changes, and that may be in use. */
  protected changes(): readonly string[] {
    return [];
  }

  protected abstract apply(): readonly string[];
  protected abstract revert(): readonly string[];

  up(runner: QueryRunner): Promise<void> {
    return inTransaction(runner, async () => {
      await this.prepare(runner);
      if (await this.isApplied(runner)) return;
      await lockTables(runner, this.changes());
      for (const statement of this.apply()) await runner.query(statement);
      await runner.query(`insert into ${this.names.migration} (version, name) values ($1, $2)`, [
        this.version,
        this.name,
      ]);
    });
  }

  down(runner: QueryRunner): Promise<void> {
    return inTransaction(runner, async () => {
      await this.prepare(runner);
      if (!(await this.isApplied(runner))) return;
      await runner.query(`delete from ${this.names.migration} where version = $1`, [this.version]);
      for (const statement of this.revert()) await runner.query(statement);
    });
  }

  // The lock holds until the transaction ends, so that replicas which boot together migrate one after the other.
  private async prepare(runner: QueryRunner): Promise<void> {
    await runner.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [
      `nestjs-pgqueue migrations of ${this.names.schemaName}`,
    ]);
    // CREATE SCHEMA IF NOT EXISTS asks for the right to create even where the schema exists.
    const found = await rowsOf(runner, `select 1 from pg_catalog.pg_namespace where nspname = $1`, [
      this.names.schemaName,
    ]);
    if (found.length === 0) await runner.query(`create schema ${this.names.schema}`);
    await runner.query(`
      create table if not exists ${this.names.migration} (
        version integer primary key,
        name text not null,
        applied_at timestamptz not null default now())`);
  }

  private async isApplied(runner: QueryRunner): Promise<boolean> {
    const rows = await rowsOf(runner, `select 1 from ${this.names.migration} where version = $1`, [this.version]);
    return rows.length > 0;
  }
}

// Shorter than the deadlock_timeout of others: of two who wait for each other, it is this one that gives way.
const LOCK_TIMEOUT = '400ms';
const PATIENCE = 120_000;
const LONGEST_PAUSE = 2_000;
const UNAVAILABLE = ['55P03', '40P01'];

/**
 * All at once before anything is changed: workers and users hold them in any order, and whoever comes behind a lock that waits has
 * to wait, too. So it is asked for again and again, for a moment each.
 */
async function lockTables(runner: QueryRunner, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return;
  const startedAt = performance.now();
  for (let tries = 0; ; tries++) {
    await runner.query('savepoint pgqueue_lock');
    try {
      await runner.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
      await runner.query(`lock table ${tables.join(', ')} in access exclusive mode`);
      await runner.query('set local lock_timeout = 0');
      return;
    } catch (error) {
      if (!UNAVAILABLE.includes(String((error as { code?: unknown }).code))) throw error;
      if (performance.now() - startedAt > PATIENCE) throw locked(tables, error);
      await runner.query('rollback to savepoint pgqueue_lock');
      await delay(Math.min(100 * 2 ** tries, LONGEST_PAUSE) * (0.5 + Math.random() / 2));
    }
  }
}

function locked(tables: readonly string[], cause: unknown): SchemaError {
  return new SchemaError(
    'PGQUEUE_SCHEMA_LOCKED',
    `The tables ${tables.join(', ')} can't be migrated, as long transactions use them. End those that are listed by: ` +
      `select * from pg_stat_activity where state <> 'idle' order by xact_start; then start again`,
    { cause },
  );
}

async function rowsOf(runner: QueryRunner, sql: string, values: unknown[]): Promise<unknown[]> {
  return (await runner.query(sql, values)) as unknown[];
}

// TypeORM can be told to run migrations without a transaction.
async function inTransaction(runner: QueryRunner, work: () => Promise<void>): Promise<void> {
  if (runner.isTransactionActive) return work();
  await runner.startTransaction('READ COMMITTED');
  try {
    await work();
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  }
}

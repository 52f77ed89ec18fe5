import type { MigrationInterface, QueryRunner } from 'typeorm';
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

  protected abstract apply(): readonly string[];
  protected abstract revert(): readonly string[];

  up(runner: QueryRunner): Promise<void> {
    return inTransaction(runner, async () => {
      await this.prepare(runner);
      if (await this.isApplied(runner)) return;
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

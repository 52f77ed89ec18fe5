import { PgQueueMigration } from '../lib/sql/pg-queue-migration.js';

const COUNTS = ['successful', 'retried', 'failed', 'exception', 'canceled', 'lost']
  .map((outcome) => `${outcome} integer not null`)
  .join(', ');

/** Old workers may go on: what they do is not counted. */
export class Statistics extends PgQueueMigration {
  readonly version = 4;

  constructor(schema: string) {
    super(schema, 'PgQueueStatistics', 1764633600000);
  }

  protected apply(): readonly string[] {
    return [this.createStatistic(), this.createStatisticDelta()];
  }

  protected revert(): readonly string[] {
    const { statistic, statisticDelta } = this.names;
    return [`drop table ${statistic}, ${statisticDelta}`];
  }

  private createStatistic(): string {
    return `
      create table ${this.names.statistic} (
        minute timestamptz not null,
        entrypoint text not null,
        ${COUNTS},
        buckets smallint[] not null,
        bucket_counts integer[] not null,
        primary key (minute, entrypoint))
      with (fillfactor = 80)`;
  }

  // No index: a row lives for about a minute and is written by every settle. All of them die, so they are vacuumed by their number
  // and not by their share, and without pauses, as the table is small. It keeps its pages for the next minute: to truncate it would
  // lock out the settles. It is read as a whole, so its statistics are of no use.
  private createStatisticDelta(): string {
    return `
      create table ${this.names.statisticDelta} (
        minute timestamptz not null,
        entrypoint text not null,
        ${COUNTS},
        durations smallint[] not null)
      with (
        autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_threshold = 1000000000, vacuum_truncate = false)`;
  }
}

import { PgQueueMigration } from '../lib/sql/pg-queue-migration.js';

/** Old workers may go on: each new column is null or has a default, and none of their statements changes its meaning. */
export class CompleteJobLife extends PgQueueMigration {
  readonly version = 2;

  constructor(schema: string) {
    super(schema, 'PgQueueCompleteJobLife', 1764460800000);
  }

  protected override changes(): readonly string[] {
    const { job, claim, jobLog } = this.names;
    return [job, claim, jobLog];
  }

  // A key is taken while its job is queued or picked.
  protected apply(): readonly string[] {
    const { job, claim, entrypoint } = this.names;
    return [
      `alter table ${job}
        add column dedupe_key text,
        add column on_failure text,
        add column losses integer not null default 0,
        add column cancel_requested boolean not null default false,
        add column awaited boolean not null default false`,
      `create unique index job_dedupe_key on ${job} (entrypoint, dedupe_key)
        where dedupe_key is not null and status in ('queued', 'picked')`,
      `create index job_failed on ${job} (id, entrypoint) where status = 'failed'`,
      `create index job_cancel_requested on ${job} (claim_id) where cancel_requested`,
      `alter table ${claim} add column company boolean not null default false`,
      ...this.changeStatuses(['successful', 'retried', 'failed', 'exception', 'canceled', 'lost', 'deleted']),
      `alter table ${this.names.jobLog} add column result json`,
      `create table ${entrypoint} (name text primary key, paused_at timestamptz)`,
    ];
  }

  protected revert(): readonly string[] {
    const { job, claim, jobLog, entrypoint, schema } = this.names;
    return [
      `drop index ${schema}.job_failed`,
      `drop table ${entrypoint}`,
      `alter table ${jobLog} drop column result`,
      `delete from ${jobLog} where status in ('exception', 'canceled', 'deleted')`,
      ...this.changeStatuses(['successful', 'retried', 'failed', 'lost']),
      `alter table ${claim} drop column company`,
      `alter table ${job} drop column dedupe_key, drop column on_failure, drop column losses, drop column cancel_requested, drop column awaited`,
    ];
  }

  private changeStatuses(statuses: readonly string[]): readonly string[] {
    const { jobLog } = this.names;
    const list = statuses.map((each) => `'${each}'`).join(', ');
    return [
      `alter table ${jobLog} drop constraint job_log_status_check`,
      `alter table ${jobLog} add constraint job_log_status_check check (status in (${list})) not valid`,
    ];
  }
}

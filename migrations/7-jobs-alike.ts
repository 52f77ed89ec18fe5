import type { Names } from '../lib/sql/names.js';
import { PgQueueMigration } from '../lib/sql/pg-queue-migration.js';
import { createEnqueuePlain, insertEach } from './5-enqueue-plain.js';

/** Jobs that differ in nothing but their payloads are inserted for less. What is called stays as it is. */
export class JobsAlike extends PgQueueMigration {
  readonly version = 7;

  constructor(schema: string) {
    super(schema, 'PgQueueJobsAlike', 1764892800000);
  }

  protected apply(): readonly string[] {
    const areAlike = `cardinality(entrypoints) = 1 and cardinality(priorities) = 1 and cardinality(delays) = 1
          and headers is null and max_attempts is null and run_ats is null`;
    const insert = `if ${areAlike} then
        ${insertAlike(this.names)};
        else
        ${insertEach(this.names)};
        end if`;
    return [createEnqueuePlain(this.names, insert)];
  }

  protected revert(): readonly string[] {
    return [createEnqueuePlain(this.names, insertEach(this.names))];
  }
}

function insertAlike({ job }: Names): string {
  return `
        with inserted as (
        insert into ${job} as job (entrypoint, payload, headers, priority, max_attempts, run_at, created_at, wait)
        select first_entrypoint, input.payload, null, first_priority, null, due_by_default, at_once,
          case when due_by_default > at_once then 'later' else 'ready' end
        from unnest($2) with ordinality as input(payload, position)
        order by input.position
        returning job.id)
        select string_agg(inserted.id::text, ','), count(*) into ids, written from inserted`;
}

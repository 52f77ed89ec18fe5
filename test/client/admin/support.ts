import { PgQueueAdmin, type PgQueueOptions } from 'nestjs-pgqueue';
import type { Outcome } from '../../../lib/domain/outcome.js';
import { type Claim, FAILED, useWorkerGround, type WorkerGround } from '../../support/index.js';

export const HOUR = 3_600_000;
export const RETRIED: Outcome = { type: 'retried', delay: 0, error: { message: 'Error: no', stack: null } };
export const DELAYED: Outcome = { ...RETRIED, delay: HOUR };

export interface AdminGround extends WorkerGround {
  /** That of an application that runs no jobs, started at the first call of a test. */
  admin(options?: PgQueueOptions): Promise<PgQueueAdmin>;
  /** Adds jobs that have failed for good. */
  addFailed(...jobs: Parameters<WorkerGround['queue']['add']>): Promise<string[]>;
  /** Adds jobs and claims them. */
  addPicked(...jobs: Parameters<WorkerGround['queue']['add']>): Promise<Claim>;
  statuses(): Promise<Record<string, string>>;
  /** `[job, status]` of each entry of the log, the oldest first. */
  ends(): Promise<[string, string][]>;
}

export function useAdminGround(): AdminGround {
  const ground = useWorkerGround();
  let started: Promise<PgQueueAdmin> | undefined;
  beforeEach(() => void (started = undefined));
  const addPicked: AdminGround['addPicked'] = async (...jobs) => {
    const ids = await ground.queue.add(...jobs);
    return ground.queue.claim(ids.length);
  };
  return Object.assign(Object.create(ground) as WorkerGround, {
    admin: (options?: PgQueueOptions) =>
      (started ??= ground.producer(options).then(({ app }) => app.get<PgQueueAdmin>(PgQueueAdmin))),
    addPicked,
    addFailed: async (...jobs: Parameters<AdminGround['addFailed']>) => {
      const ids = await ground.queue.add(...jobs); // in the order of the jobs, which is not that of their ids
      await ground.queue.settle(await ground.queue.claim(ids.length), FAILED);
      return ids;
    },
    statuses: async () => {
      const rows = await ground.database.query<{ id: string; status: string }>('select id, status from pgqueue.job');
      return Object.fromEntries(rows.map(({ id, status }) => [id, status]));
    },
    ends: async () => {
      const rows = await ground.database.query<{ job_id: string; status: string }>(
        'select job_id, status from pgqueue.job_log order by ended_at, job_id',
      );
      return rows.map(({ job_id, status }): [string, string] => [job_id, status]);
    },
  });
}

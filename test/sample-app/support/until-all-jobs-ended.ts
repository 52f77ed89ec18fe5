import { eventually, type TestDatabase } from '../../support/index.js';

/** Resolves when the queue is empty: a job that enqueues the next one does so before it ends. */
export async function untilAllJobsEnded(database: TestDatabase, { timeout }: { timeout: number }): Promise<void> {
  const sql = 'SELECT id FROM pgqueue.job LIMIT 1';
  await eventually(async () => (await database.query(sql)).length === 0, { timeout });
}

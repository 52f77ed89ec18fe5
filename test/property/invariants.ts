import type { JobState, State } from './state.js';

const FINAL = new Set(['successful', 'exception', 'canceled', 'deleted']);

/** What must hold whatever has happened. Knows no model, so that a wrong one can't hide it. */
export function violationsOf({ jobs, claims, log }: State, everyId: readonly string[]): string[] {
  const found: string[] = [];
  const rows = new Map(jobs.map((job) => [job.id, job]));
  const keys = new Set<string>();
  const recordsOf = (id: string) => log.filter(({ jobId }) => jobId === id);
  for (const id of everyId) {
    const ends = recordsOf(id).filter(({ status }) => FINAL.has(status)).length;
    if (ends !== (rows.has(id) ? 0 : 1))
      found.push(`job ${id} has ended ${ends} times and its row is ${rows.has(id) ? 'there' : 'gone'}`);
  }
  for (const job of jobs) {
    const { id, status, claimId, dedupeKey, entrypoint, attempt, maxAttempts } = job;
    if (!everyId.includes(id)) found.push(`job ${id} was never enqueued`);
    if (status === 'failed' && recordsOf(id).at(-1)?.status !== 'failed')
      found.push(`job ${id} failed without a record`);
    if (status === 'picked' && !claims.some((claim) => claim.claimId === claimId && claim.jobIds.includes(id))) {
      found.push(`job ${id} is picked and no claim has it`);
    }
    if (attempt < 0 || attempt > (maxAttempts ?? 0))
      found.push(`job ${id} is at attempt ${attempt} of ${maxAttempts ?? 0}`);
    const key = `${entrypoint} ${dedupeKey}`;
    if (isLive(job) && keys.has(key)) found.push(`two live jobs have the key ${key}`);
    if (isLive(job)) keys.add(key);
  }
  return found;
}

const isLive = ({ status, dedupeKey }: JobState) => dedupeKey !== null && status !== 'failed';

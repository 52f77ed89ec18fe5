import fc from 'fast-check';
import { insertJobs, type InsertedJob, type NewJob } from '../../../lib/sql/enqueue.js';
import { names } from '../../support/index.js';
import { type Action, anyEntrypoint, type Chosen, HOUR } from '../action.js';
import type { Model, ModelJob } from '../model.js';

export const anyJob = fc.record({
  entrypoint: anyEntrypoint,
  payload: fc.nat(9),
  priority: fc.nat(1),
  /** Hours. What was due in the past is given as a time, anything else as a delay. */
  dueIn: fc.constantFrom(0, 0, 0, -1, 1, 2),
  maxAttempts: fc.constantFrom(null, 1, 2),
  dedupeKey: fc.constantFrom(null, 'a', 'a', 'b'),
  onConflict: fc.constantFrom('skip', 'replace', 'raise'),
});
export type Job = Chosen<typeof anyJob>;

export const enqueue: Action<Job[], Job[], InsertedJob[]> = {
  name: 'enqueue',
  weight: 12,
  choices: fc.array(anyJob, { minLength: 1, maxLength: 4 }),
  // A key whose job is in an open transaction is waited for.
  plan: (model, jobs) => {
    const holders = jobs.map(({ entrypoint, dedupeKey }) => dedupeKey && model.holderOf(entrypoint, dedupeKey));
    return holders.some((holder) => holder && model.isLocked(holder.id)) ? undefined : jobs;
  },
  perform: ({ db }, jobs) => insertJobs(db, names, jobs.map(toNewJob), true),
  apply: (model, jobs, answer) => {
    const ids = answer.filter(({ outcome }) => outcome === 'inserted').map(({ id }) => Number(id));
    const fresh = ids.toSorted((a, b) => a - b).filter((id) => id > Number(model.ids.at(-1) ?? 0));
    const before = new Map([...model.jobs].map(([id, job]) => [id, { ...job }]));
    const expected = insertAll(model, jobs, fresh.map(String));
    const refused = expected.find(({ outcome }) => outcome === 'refused');
    if (refused === undefined) {
      model.ids.push(...fresh.map(String));
      return expected.toSorted((a, b) => a.index - b.index);
    }
    model.jobs = before;
    return [refused.id !== undefined && before.has(refused.id) ? refused : { ...refused, id: undefined }];
  },
  kinds: (_, answer) => answer.map(({ outcome }) => outcome),
};

export function toNewJob({ dueIn, payload, ...job }: Job): NewJob {
  const runAt = dueIn < 0 ? Date.now() + dueIn * HOUR : null;
  return { ...job, payload: String(payload), headers: null, delay: dueIn * HOUR, runAt };
}

const order = ({ dedupeKey, entrypoint }: Job) => (dedupeKey === null ? '' : `${dedupeKey} ${entrypoint}`);

/** Those without a key first, then by key. */
function insertAll(model: Model, jobs: readonly Job[], fresh: string[]): InsertedJob[] {
  const numbered = jobs.map((job, index) => ({ job, index }));
  const sorted = numbered.toSorted((a, b) => compare(order(a.job), order(b.job)));
  const ids = [...fresh];
  const results: InsertedJob[] = [];
  for (const { job, index } of sorted) {
    const result = { ...insert(model, job, ids), index };
    results.push(result);
    if (result.outcome === 'refused') break;
  }
  return results;
}

export function insert(model: Model, job: Job, ids: string[]): Omit<InsertedJob, 'index'> {
  const { entrypoint, dedupeKey, onConflict, dueIn, ...given } = job;
  const holder = dedupeKey === null ? undefined : model.holderOf(entrypoint, dedupeKey);
  const wait: ModelJob['wait'] = dueIn > 0 ? 'later' : 'ready';
  const anew = { ...given, wait, runAt: model.hour + dueIn, attempt: 0, losses: 0 };
  if (holder === undefined) {
    const id = ids.shift() ?? `none, but of a ${job.entrypoint}`;
    const rest = { status: 'queued', onFailure: null, claimId: null, cancelRequested: false } as const;
    model.jobs.set(id, { id, entrypoint, dedupeKey, ...anew, ...rest });
    return { id, outcome: 'inserted' };
  }
  if (onConflict === 'raise') return { id: holder.id, outcome: 'refused' };
  if (onConflict === 'skip' || holder.status === 'picked') return { id: holder.id, outcome: 'duplicate' };
  Object.assign(holder, anew);
  return { id: holder.id, outcome: 'replaced' };
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

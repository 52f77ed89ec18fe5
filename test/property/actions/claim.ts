import fc from 'fast-check';
import { claimAlone, claimJobs, type ClaimRequest } from '../../../lib/sql/claim.js';
import type { Database } from '../../../lib/sql/database.js';
import { names } from '../../support/index.js';
import { type Action, anyEntrypoint, type Chosen, ENTRYPOINTS } from '../action.js';
import type { Model, ModelJob } from '../model.js';

const anyPolicy = fc.record({
  name: anyEntrypoint,
  maxAttempts: fc.integer({ min: 1, max: 2 }),
  onFailure: fc.constantFrom('hold', 'hold', 'drop'),
});
export const anyClaim = fc.record({
  alone: fc.boolean(),
  worker: fc.constantFrom<string[]>('ann', 'bob', 'cid'),
  company: fc.constantFrom(false, false, true),
  limit: fc.integer({ min: 1, max: 4 }),
  candidates: fc.integer({ min: 1, max: 8 }),
  entrypoints: fc.uniqueArray(anyPolicy, {
    selector: ({ name }) => name,
    minLength: 1,
    maxLength: ENTRYPOINTS.length,
    size: 'max',
  }),
});
type Choice = Chosen<typeof anyClaim>;
export type ClaimCall = Choice & Pick<ClaimRequest, 'claimId'>;

export interface ClaimAnswer {
  readonly jobs: readonly ClaimedState[];
  readonly crowded: boolean;
}

type ClaimedState = Pick<ModelJob, 'id' | 'entrypoint' | 'attempt' | 'maxAttempts' | 'priority' | 'payload' | 'losses'>;

export const claim: Action<Choice, ClaimCall, ClaimAnswer> = {
  name: 'claim',
  weight: 18,
  choices: anyClaim,
  plan: planClaim,
  perform: ({ db }, call) => performClaim(db, call),
  apply: (model, call) => {
    const { won, crowded } = choose(model, call);
    model.claimsBegun += 1;
    return { jobs: pick(model, call, won), crowded };
  },
  kinds: ({ alone }, { jobs, crowded }) => [
    ...jobs.map(() => (alone ? 'of a suspect' : 'of a job')),
    ...(crowded ? ['crowded'] : []),
  ],
};

export function planClaim(model: Model, choice: Choice): ClaimCall {
  const number = String(model.claimsBegun + 1).padStart(12, '0');
  return { ...choice, claimId: `00000000-0000-4000-8000-${number}` };
}

export async function performClaim(db: Database, { alone, ...request }: ClaimCall): Promise<ClaimAnswer> {
  const { jobs, crowded } = await (alone ? claimAlone : claimJobs)(db, names, request);
  return { jobs: jobs.map((job) => claimedState({ ...job, payload: Number(job.payload) })), crowded };
}

/** Which jobs a claim wins: the most urgent of what it looks at or walks past, but for those that are locked. */
export function choose(model: Model, { alone, company, limit, candidates, entrypoints }: ClaimCall) {
  const strict = (job: ModelJob) => !alone || job.losses < 2 || !company;
  const ready = [...model.jobs.values()].filter(
    (job) => job.status === 'queued' && job.wait === (alone ? 'alone' : 'ready') && strict(job),
  );
  const wanted = entrypoints.filter(({ name }) => !model.paused.has(name));
  const seen = wanted.flatMap(({ name }) =>
    byUrgency(ready.filter(({ entrypoint }) => entrypoint === name)).slice(0, candidates),
  );
  const looked = byUrgency(seen).slice(0, candidates);
  // Of one entrypoint the index is walked past all that is locked; candidates only tell whether something was.
  const isWalked = entrypoints.length === 1 && !alone;
  const walked = isWalked ? byUrgency(ready.filter(({ entrypoint }) => entrypoint === wanted[0]?.name)) : looked;
  const won = walked.filter(({ id }) => !model.isLocked(id)).slice(0, limit);
  return { won, crowded: won.length < limit && looked.length > won.length };
}

/** Gives jobs to a claim. */
export function pick(model: Model, call: ClaimCall, jobs: readonly ModelJob[]): ClaimedState[] {
  const { claimId, worker, company, entrypoints } = call;
  for (const job of jobs) {
    const policy = entrypoints.find(({ name }) => name === job.entrypoint)!;
    const maxAttempts = job.maxAttempts ?? policy.maxAttempts;
    const { onFailure } = policy;
    Object.assign(job, { status: 'picked', claimId, attempt: job.attempt + 1, maxAttempts, onFailure });
  }
  const known = jobs.map(({ id, attempt, maxAttempts }) => ({ id, attempt, maxAttempts: maxAttempts! }));
  if (known.length > 0) model.claims.push({ claimId, worker, company, jobs: known, isKept: true, silence: 0 });
  return jobs.map(claimedState);
}

const byUrgency = (jobs: readonly ModelJob[]) =>
  jobs.toSorted((a, b) => b.priority - a.priority || Number(a.id) - Number(b.id));

export const claimedState = (job: ClaimedState): ClaimedState => {
  const { id, entrypoint, attempt, maxAttempts, priority, payload, losses } = job;
  return { id, entrypoint, attempt, maxAttempts, priority, payload, losses };
};

import fc from 'fast-check';
import { insertClaimed } from '../../../lib/sql/insert-claimed.js';
import { names } from '../../support/index.js';
import { type Action, type Chosen } from '../action.js';
import { anyClaim, type ClaimAnswer, type ClaimCall, claimedState, pick, planClaim } from './claim.js';
import { anyJob, insert, type Job, toNewJob } from './enqueue.js';

/** Whose claim it is, and the job that is inserted for it. */
const anyHandOver = fc.record({ claim: anyClaim, job: anyJob });

interface HandOverAnswer {
  readonly id: string | undefined;
  readonly jobs: ClaimAnswer['jobs'];
}

export const handOver: Action<Chosen<typeof anyHandOver>, ClaimCall & { readonly job: Job }, HandOverAnswer> = {
  name: 'hand over',
  weight: 4,
  choices: anyHandOver,
  plan: (model, choice) => {
    const job = { ...choice.job, dueIn: 0, dedupeKey: null } as const;
    const [policy] = choice.claim.entrypoints;
    return { ...planClaim(model, { ...choice.claim, entrypoints: [{ ...policy!, name: job.entrypoint }] }), job };
  },
  perform: async ({ db }, { job, ...claimant }) => {
    const { jobs, inserted } = await insertClaimed(db, names, toNewJob(job), claimant, true);
    return { id: inserted.id, jobs: jobs.map((won) => claimedState({ ...won, payload: Number(won.payload) })) };
  },
  apply: (model, call, { id = '' }) => {
    expect(Number(id)).toBeGreaterThan(Number(model.ids.at(-1) ?? 0));
    model.ids.push(id);
    model.claimsBegun += 1;
    insert(model, call.job, [id]);
    const isPaused = model.paused.has(call.job.entrypoint);
    return { id, jobs: isPaused ? [] : pick(model, call, [model.jobs.get(id)!]) };
  },
  kinds: (_, { jobs }) => [jobs.length === 0 ? 'of a paused entrypoint' : undefined],
};

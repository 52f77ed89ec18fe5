import fc from 'fast-check';
import { type DissolvedJob, type DissolvedOutcome, dissolveClaims } from '../../../lib/sql/dissolve.js';
import { names } from '../../support/index.js';
import { type Action, anyOne, chosenFew } from '../action.js';
import { byId, type Model, type ModelClaim, type ModelJob } from '../model.js';

const HEARTBEAT_TIMEOUT = 30_000;
const LOSSES_FOR_FREE = 10;

/** By a process that takes some of the claims for its own, which it leaves alone. */
export const dissolve: Action<number[], readonly string[], DissolvedJob[]> = {
  name: 'dissolve',
  weight: 12,
  choices: fc.array(anyOne, { maxLength: 1 }),
  plan: ({ claims }, choices) => chosenFew(claims, choices).map(({ claimId }) => claimId),
  perform: async ({ db }, except) =>
    byId(await dissolveClaims(db, names, { heartbeatTimeout: HEARTBEAT_TIMEOUT, notify: true, except })),
  apply: (model, except) => {
    const stale = model.keptClaims.filter(({ silence, claimId }) => silence > 0 && !except.includes(claimId));
    const doomed = stale.map((claim) => ({ claim, isAlone: isAlone(model, claim) }));
    const freed = doomed.flatMap(({ claim, isAlone: spends }) =>
      model
        .jobsOf(claim.claimId)
        .filter(({ id }) => !model.isLocked(id))
        .map((job) => lose(model, job, claim, spends)),
    );
    for (const claim of stale) claim.isKept = model.jobsOf(claim.claimId).length > 0;
    return byId(freed);
  },
  kinds: (_, answer) => answer.map(({ outcome }) => outcome),
};

/** Whether its worker had nothing else: one job is left, and no other claim of that worker has any. */
function isAlone(model: Model, { claimId, company, worker }: ModelClaim): boolean {
  const others = model.keptClaims.filter(
    (claim) => claim.worker === worker && claim.claimId !== claimId && model.jobsOf(claim.claimId).length > 0,
  );
  return !company && others.length === 0 && model.jobsOf(claimId).length === 1;
}

function lose(model: Model, job: ModelJob, { claimId, worker }: ModelClaim, isAlone: boolean): DissolvedJob {
  const isSpent = isAlone || job.losses >= LOSSES_FOR_FREE;
  const outcome = lossOf(job, isSpent);
  model.record(job, outcome, { claimId, worker });
  if (outcome === 'canceled' || outcome === 'exception') model.jobs.delete(job.id);
  Object.assign(job, {
    status: outcome === 'failed' ? 'failed' : 'queued',
    wait: outcome === 'failed' ? 'ready' : 'alone',
    claimId: null,
    attempt: job.attempt - (isSpent ? 0 : 1),
    losses: job.losses + 1,
    runAt: model.hour,
  });
  return { id: job.id, entrypoint: job.entrypoint, outcome, claimId, worker };
}

function lossOf({ cancelRequested, attempt, maxAttempts, onFailure }: ModelJob, isSpent: boolean): DissolvedOutcome {
  if (cancelRequested) return 'canceled';
  if (!isSpent || attempt < maxAttempts!) return 'lost';
  return onFailure === 'drop' ? 'exception' : 'failed';
}

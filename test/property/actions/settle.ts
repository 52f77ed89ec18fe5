import fc from 'fast-check';
import type { Outcome, RecordedOutcome } from '../../../lib/domain/outcome.js';
import { reapClaims } from '../../../lib/sql/claims.js';
import { settleJobs, type SettledJob, type Settlement } from '../../../lib/sql/settle.js';
import { names } from '../../support/index.js';
import { type Action, anyOne, type Chosen, chosen, HOUR } from '../action.js';
import { byId, type Model, type ModelClaim, type ModelJob } from '../model.js';

const error = { message: 'no', stack: null };
const anyOutcome: fc.Arbitrary<Outcome> = fc.constantFrom<Outcome[]>(
  { type: 'successful' },
  { type: 'failed', error },
  { type: 'failed', error },
  { type: 'failed', error },
  { type: 'retried', delay: 0, error },
  { type: 'retried', delay: HOUR, error },
  { type: 'retried', delay: 0, error, isFree: true },
  { type: 'retried', delay: HOUR, error, isFree: true },
  { type: 'canceled', error },
  { type: 'released' },
);

/** `some`: bit by bit, which jobs of the claim; 0 is all. */
const anyPart = fc.record({
  claim: anyOne,
  some: fc.nat(7),
  outcomes: fc.array(anyOutcome, { minLength: 1, maxLength: 3 }),
});
/** `before`: claims that have ended are removed by the settle itself; `isQuick`: it waits a moment for what is locked. */
const anySettle = fc.record({
  isQuick: fc.boolean(),
  parts: fc.array(anyPart, { minLength: 1, maxLength: 2 }),
  before: fc.boolean(),
  reap: fc.boolean(),
});

interface Call {
  readonly isQuick: boolean;
  readonly settlements: readonly Pick<Settlement, 'id' | 'claimId' | 'outcome'>[];
  readonly worker: string;
  readonly ended: readonly string[];
  readonly reap: readonly string[];
}

interface Answer {
  readonly removed: readonly string[];
  readonly settled: readonly SettledJob[];
  readonly reaped: readonly string[];
}

export const settle: Action<Chosen<typeof anySettle>, Call, Answer> = {
  name: 'settle',
  weight: 14,
  choices: anySettle,
  plan: (model, { isQuick, parts, before, reap }) => {
    if (model.claims.length === 0) return undefined;
    const claims = new Map(parts.map((part) => [chosen(model.claims, part.claim)!, part]));
    const claimIds = [...claims.keys()].map(({ claimId }) => claimId);
    const settlements = [...claims].flatMap(([claim, part]) => settlementsOf(claim, part));
    const ended = model.keptClaims.filter(({ claimId }) => before && model.jobsOf(claimId).length === 0);
    return {
      isQuick,
      settlements,
      worker: [...claims.keys()][0]!.worker,
      ended: ended.map(({ claimId }) => claimId),
      reap: reap ? claimIds : [],
    };
  },
  perform: async ({ db }, { isQuick, settlements, worker, ended, reap }) => {
    const timed = settlements.map((settlement) => ({ ...settlement, duration: 1 }));
    const context = { worker, notify: true, ended, isQuick };
    const { jobs: settled, reaped: removed } = await settleJobs(db, names, timed, context);
    return {
      settled: byId(settled),
      removed: removed.toSorted(),
      reaped: (await reapClaims(db, names, reap)).toSorted(),
    };
  },
  apply: (model, { settlements, worker, ended, reap }) => {
    const removed = reapAll(model, ended);
    const settled = settlements.flatMap((settlement) => settleJob(model, settlement, worker));
    return { settled: byId(settled), removed, reaped: reapAll(model, reap) };
  },
  kinds: ({ settlements }, { settled }) => [
    ...settled.map(({ outcome }) => outcome ?? 'locked'),
    ...settlements.slice(settled.length).map(() => 'late'),
  ],
};

function settlementsOf(claim: ModelClaim, { some, outcomes }: Chosen<typeof anyPart>): Call['settlements'] {
  const jobs = claim.jobs.filter((_, index) => some === 0 || (some >> index) % 2 === 1);
  return jobs.map(({ id, attempt, maxAttempts }, index) => {
    const outcome = outcomes[index % outcomes.length]!;
    // As workers do: the last attempt is not retried.
    const isLast = outcome.type === 'retried' && outcome.isFree !== true && attempt >= maxAttempts;
    return { id, claimId: claim.claimId, outcome: isLast ? { type: 'failed', error } : outcome };
  });
}

/** Nothing, unless the job still belongs to the claim. */
function settleJob(model: Model, { id, claimId, outcome }: Call['settlements'][number], worker: string): SettledJob[] {
  const job = model.jobs.get(id);
  if (job?.claimId !== claimId) return [];
  if (model.isLocked(id)) return [{ id, claimId, outcome: undefined }];
  const recorded = recordedOutcome(job, outcome);
  if (recorded !== 'released') model.record(job, recorded, { claimId, worker });
  job.claimId = null;
  if (recorded === 'failed' || recorded === 'released' || recorded === 'retried') goOn(model, job, recorded, outcome);
  else model.jobs.delete(id);
  return [{ id, claimId, outcome: recorded }];
}

function recordedOutcome(job: ModelJob, { type }: Outcome): RecordedOutcome {
  if (job.cancelRequested && type !== 'successful') return 'canceled';
  return job.onFailure === 'drop' && type === 'failed' ? 'exception' : type;
}

function goOn(model: Model, job: ModelJob, recorded: RecordedOutcome, outcome: Outcome): void {
  job.status = recorded === 'failed' ? 'failed' : 'queued';
  if (recorded === 'failed') job.wait = 'ready';
  if (recorded === 'released') job.attempt -= 1;
  if (outcome.type !== 'retried') return;
  job.wait = outcome.delay > 0 ? 'later' : 'ready';
  job.runAt = model.hour + outcome.delay / HOUR;
  if (outcome.isFree === true) job.attempt -= 1;
}

function reapAll(model: Model, claimIds: readonly string[]): string[] {
  const ended = model.keptClaims.filter(
    ({ claimId }) => claimIds.includes(claimId) && model.jobsOf(claimId).length === 0,
  );
  for (const claim of ended) claim.isKept = false;
  return ended.map(({ claimId }) => claimId).toSorted();
}

import { act, ENTRYPOINTS } from './action.js';
import { claim, planClaim } from './actions/claim.js';
import { dissolve } from './actions/dissolve.js';
import { resume } from './actions/pause.js';
import { settle } from './actions/settle.js';
import { crash, elapse, promote } from './actions/time.js';
import { close } from './actions/transaction.js';
import type { Model } from './model.js';
import type { Real } from './real.js';

const LONGEST_DELAY = 2;
const EVERYTHING = {
  alone: false,
  worker: 'eve',
  company: false,
  limit: 1_000,
  candidates: 1_000,
  entrypoints: ENTRYPOINTS.map((name) => ({ name, maxAttempts: 1, onFailure: 'hold' as const })),
};

/** Every worker dies, and one comes that runs whatever is left. Afterwards nothing but failed jobs may be there. */
export async function finish(model: Model, real: Real): Promise<void> {
  if (model.open !== undefined) await act(close, 'rollback', model, real);
  for (const { claimId } of model.keptClaims) await act(crash, claimId, model, real);
  await act(dissolve, [], model, real);
  for (const name of model.paused) await act(resume, name, model, real);
  for (let hour = 0; hour < LONGEST_DELAY; hour++) await act(elapse, {}, model, real);
  await act(promote, 0, model, real);
  const { jobs } = await act(claim, planClaim(model, EVERYTHING), model, real);
  const { claimId } = model.claims.at(-1) ?? { claimId: '' };
  const settlements = jobs.map(({ id }) => ({ id, claimId, outcome: { type: 'successful' } as const }));
  if (jobs.length > 0)
    await act(
      settle,
      { settlements, worker: EVERYTHING.worker, ended: [], isQuick: true, reap: [claimId] },
      model,
      real,
    );
  expect(model.state().jobs.filter(({ status }) => status !== 'failed')).toEqual([]);
  expect(model.state().claims).toEqual([]);
}

import fc from 'fast-check';
import { names } from '../../support/index.js';
import { type Action, anyFew, type Chosen, chosenFew } from '../action.js';
import { anyClaim, choose, type ClaimAnswer, type ClaimCall, performClaim, pick, planClaim } from './claim.js';

/** Somebody else locks jobs and keeps them locked. */
export const lock: Action<number[], string[], string[]> = {
  name: 'lock',
  weight: 2,
  choices: anyFew,
  plan: ({ jobs, open }, choices) => {
    return jobs.size === 0 || open !== undefined ? undefined : chosenFew([...jobs.keys()], choices).toSorted();
  },
  perform: async ({ other }, ids) => {
    await other.begin();
    const rows = await other.db.query(`select id from ${names.job} where id = any($1::bigint[]) for update`, [ids]);
    return rows.map(({ id }) => id!).toSorted();
  },
  apply: (model, ids) => {
    model.open = { ids: new Set(ids), commit: () => undefined };
    return ids;
  },
};

/** Another worker claims, and has not committed yet. */
export const openClaim: Action<Chosen<typeof anyClaim>, ClaimCall, ClaimAnswer['jobs'][number]['id'][]> = {
  name: 'openClaim',
  weight: 2,
  choices: anyClaim,
  plan: (model, choice) => (model.open === undefined ? planClaim(model, choice) : undefined),
  perform: async ({ other }, call) => {
    await other.begin();
    return (await performClaim(other.db, call)).jobs.map(({ id }) => id);
  },
  apply: (model, call) => {
    const { won } = choose(model, call);
    const ids = won.map(({ id }) => id);
    model.claimsBegun += 1;
    model.open = {
      ids: new Set(ids),
      commit: () =>
        void pick(
          model,
          call,
          ids.map((id) => model.jobs.get(id)!),
        ),
    };
    return ids;
  },
};

/** The open transaction ends. */
export const close: Action<'commit' | 'rollback', 'commit' | 'rollback', undefined> = {
  name: 'close',
  weight: 4,
  choices: fc.constantFrom('commit', 'rollback'),
  plan: ({ open }, how) => (open === undefined ? undefined : how),
  perform: async ({ other }, how) => {
    await other[how]();
    return undefined;
  },
  apply: (model, how) => {
    if (how === 'commit') model.open?.commit();
    model.open = undefined;
    return undefined;
  },
};

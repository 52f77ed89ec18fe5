import { beatClaims } from '../../../lib/sql/claims.js';
import { names } from '../../support/index.js';
import { type Action, anyFew, chosenFew } from '../action.js';
import { byId } from '../model.js';

interface Answer {
  readonly alive: readonly string[];
  readonly canceled: readonly { readonly id: string; readonly claimId: string }[];
}

/** Of claims that were lost or have ended, too. */
export const beat: Action<number[], string[], Answer> = {
  name: 'beat',
  weight: 4,
  choices: anyFew,
  plan: ({ claims }, choices) => {
    return claims.length === 0 ? undefined : chosenFew(claims, choices).map(({ claimId }) => claimId);
  },
  perform: async ({ db }, claimIds) => {
    const { alive, canceled } = await beatClaims(db, names, claimIds);
    return { alive: [...alive].toSorted(), canceled: byId(canceled) };
  },
  apply: (model, claimIds) => {
    const beaten = model.keptClaims.filter(({ claimId }) => claimIds.includes(claimId));
    for (const claim of beaten) claim.silence = 0;
    const canceled = beaten.flatMap(({ claimId }) =>
      model.jobsOf(claimId).flatMap(({ id, cancelRequested }) => (cancelRequested ? [{ id, claimId }] : [])),
    );
    return { alive: beaten.map(({ claimId }) => claimId).toSorted(), canceled: byId(canceled) };
  },
  kinds: (claimIds, { alive, canceled }) => [
    ...(alive.length < claimIds.length ? ['late'] : []),
    ...canceled.map(() => 'tells of a cancel'),
  ],
};

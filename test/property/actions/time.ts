import fc from 'fast-check';
import { promoteJobs } from '../../../lib/sql/promote.js';
import { names } from '../../support/index.js';
import { type Action, anyOne, chosen, HOUR } from '../action.js';

/** An hour passes in which every worker has beaten. */
export const elapse: Action<null, object, undefined> = {
  name: 'elapse',
  weight: 2,
  choices: fc.constant(null),
  plan: ({ open }) => (open === undefined ? {} : undefined),
  perform: async ({ db }) => {
    await db.query(`update ${names.job} set run_at = run_at - interval '1 hour'`);
    return undefined;
  },
  apply: (model) => {
    model.hour += 1;
    return undefined;
  },
};

/** An hour passes in which one claim has not beaten. */
export const crash: Action<number, string, undefined> = {
  name: 'crash',
  weight: 12,
  choices: anyOne,
  plan: ({ keptClaims }, choice) => (keptClaims.length === 0 ? undefined : chosen(keptClaims, choice)!.claimId),
  perform: async ({ db }, claimId) => {
    const sql = `update ${names.claim} set heartbeat_at = heartbeat_at - interval '1 hour' where claim_id = $1::uuid`;
    await db.query(sql, [claimId]);
    return undefined;
  },
  apply: (model, claimId) => {
    model.keptClaims.find((claim) => claim.claimId === claimId)!.silence += 1;
    return undefined;
  },
};

/** As if a job had been lost often. */
export const loseOften: Action<number, string, undefined> = {
  name: 'loseOften',
  weight: 2,
  choices: anyOne,
  plan: ({ jobs, open }, choice) =>
    jobs.size === 0 || open !== undefined ? undefined : chosen([...jobs.keys()], choice),
  perform: async ({ db }, id) => {
    await db.query(`update ${names.job} set losses = losses + 5 where id = $1::bigint`, [id]);
    return undefined;
  },
  apply: (model, id) => {
    model.jobs.get(id)!.losses += 5;
    return undefined;
  },
};

/** Lets in what is due, and what was to run alone and has waited for so many hours. */
export const promote: Action<number, number, number> = {
  name: 'promote',
  weight: 4,
  choices: fc.constantFrom(3, 1, 0),
  plan: (_, hours) => hours,
  perform: ({ db }, hours) => promoteJobs(db, names, { suspicion: hours * HOUR, notify: true }),
  apply: (model, hours) => {
    const waits = { ready: Infinity, later: 0, alone: hours };
    const due = [...model.jobs.values()].filter(
      ({ id, status, wait, runAt }) => status === 'queued' && runAt + waits[wait] <= model.hour && !model.isLocked(id),
    );
    for (const job of due) job.wait = 'ready';
    return due.length;
  },
  kinds: (_, count) => (count > 0 ? ['of some'] : []),
};

import { beatClaims } from '../sql/claims.js';
import type { ClaimBook } from './claim-book.js';
import type { WorkerContext } from './worker-context.js';

// Beats that get no answer on one connection after the other must leave the time for one on a new one.
const TIMEOUTS_PER_HEARTBEAT = 8;
const SHORTEST_TIMEOUT = 1_000;

export interface BeatListener {
  readonly onLost: (claimId: string) => void;
  readonly onCanceled: (job: { readonly id: string; readonly claimId: string }) => void;
}

/**
 * Renews all claims of this process in one statement, and tells which are lost and which jobs are canceled. Without any claim, sees
 * whether it could.
 */
export async function beat(context: WorkerContext, book: ClaimBook, listener: BeatListener): Promise<void> {
  const claimIds = book.claimIds();
  const timeout = Math.max(context.options.heartbeatTimeout / TIMEOUTS_PER_HEARTBEAT, SHORTEST_TIMEOUT);
  const { alive, canceled } = await beatClaims(context.db, context.names, claimIds, { timeout });
  for (const claimId of book.lose(claimIds.filter((each) => !alive.has(each)))) {
    context.observe({ type: 'claim-lost', claimId });
    listener.onLost(claimId);
  }
  for (const job of canceled) listener.onCanceled(job);
}

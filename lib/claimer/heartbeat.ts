import { beatClaims } from '../sql/claims.js';
import type { ClaimBook } from './claim-book.js';
import { Ticker } from './ticker.js';
import type { WorkerContext } from './worker-context.js';

/** Beats in a `heartbeatTimeout`, so that a slow one or two cost no claim. */
export const BEATS_PER_TIMEOUT = 4;

/** Renews all claims of this process in one statement, and tells which are lost. */
export function createHeartbeat(context: WorkerContext, book: ClaimBook, onLost: (claimId: string) => void): Ticker {
  const { db, names, options, observe } = context;
  return new Ticker(options.heartbeatTimeout / BEATS_PER_TIMEOUT, async () => {
    const claimIds = book.claimIds();
    if (claimIds.length === 0) return;
    try {
      const alive = await beatClaims(db, names, claimIds);
      const lost = book.lose(claimIds.filter((claimId) => !alive.has(claimId)));
      for (const claimId of lost) {
        observe({ type: 'claim-lost', claimId });
        onLost(claimId);
      }
    } catch (error) {
      observe({ type: 'error', task: 'beat', error });
    }
  });
}

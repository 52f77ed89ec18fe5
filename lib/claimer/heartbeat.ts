import { beatClaims } from '../sql/claims.js';
import type { ClaimBook } from './claim-book.js';
import type { WorkerContext } from './worker-context.js';

/** Renews all claims of this process in one statement, and tells which are lost. */
export async function beat(context: WorkerContext, book: ClaimBook, onLost: (claimId: string) => void): Promise<void> {
  const claimIds = book.claimIds();
  if (claimIds.length === 0) return;
  const alive = await beatClaims(context.db, context.names, claimIds);
  for (const claimId of book.lose(claimIds.filter((each) => !alive.has(each)))) {
    context.observe({ type: 'claim-lost', claimId });
    onLost(claimId);
  }
}

import type { Database } from '../sql/database.js';
import { reapClaims } from '../sql/claims.js';
import { settleJobs, type Settlement } from '../sql/settle.js';
import { Backoff } from './backoff.js';
import type { ClaimBook } from './claim-book.js';
import type { WorkerContext } from './worker-context.js';

const BATCH = 1_000;

/** Writes outcomes in batches: while one write is under way the next batch gathers, and no timer delays a lone job. */
export class Settler {
  private waiting: Settlement[] = [];
  private writing: Promise<void> | undefined;
  private readonly abandoned = new AbortController();

  constructor(
    private readonly context: WorkerContext,
    private readonly book: ClaimBook,
    private readonly onRequeued: () => void,
  ) {}

  add(settlement: Settlement): void {
    this.waiting.push(settlement);
    this.writing ??= this.writeAll().finally(() => (this.writing = undefined));
  }

  /** Resolves when everything added so far is written, or given up. */
  async flush(): Promise<void> {
    while (this.writing !== undefined) await this.writing;
  }

  /** Gives up what can't be written; whoever finds the claims stale takes the jobs back. */
  abandon(): void {
    this.abandoned.abort();
  }

  private async writeAll(): Promise<void> {
    await Promise.resolve(); // what ends in this tick goes together
    while (this.waiting.length > 0) await this.writeBatch(this.waiting.splice(0, BATCH));
  }

  private async writeBatch(batch: readonly Settlement[]): Promise<void> {
    const backoff = new Backoff();
    for (;;) {
      try {
        this.report(batch, await this.write(batch));
        return;
      } catch (error) {
        this.context.observe({ type: 'error', task: 'settle', error });
        if (this.abandoned.signal.aborted) return;
        await backoff.pause(this.abandoned.signal);
      }
    }
  }

  private async write(batch: readonly Settlement[]): Promise<Set<string>> {
    const ending = this.book.markEnding(batch);
    const written = await (ending.length === 0
      ? this.settle(this.context.db, batch)
      : this.context.db.transaction(async (db) => {
          const settled = await this.settle(db, batch);
          await reapClaims(db, this.context.names, ending);
          return settled;
        }));
    return new Set(written.map(keyOf));
  }

  private settle(db: Database, batch: readonly Settlement[]): ReturnType<typeof settleJobs> {
    const { names, label, options } = this.context;
    return settleJobs(db, names, batch, { worker: label, notify: options.notify });
  }

  private report(batch: readonly Settlement[], written: ReadonlySet<string>): void {
    this.book.close(batch);
    const settled = batch.filter((each) => written.has(keyOf(each)));
    const refused = batch.filter((each) => !written.has(keyOf(each)));
    if (settled.length > 0) this.context.observe({ type: 'settled', ids: settled.map(({ id }) => id) });
    if (refused.length > 0) this.context.observe({ type: 'refused', ids: refused.map(({ id }) => id) });
    if (settled.some(({ outcome }) => outcome.type === 'retried')) this.onRequeued();
  }
}

// A job can be settled twice by one process: for a claim that was lost and for the one that followed.
function keyOf({ id, claimId }: { id: string; claimId: string }): string {
  return `${claimId}/${id}`;
}

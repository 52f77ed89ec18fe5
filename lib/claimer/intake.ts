import { randomUUID } from 'node:crypto';
import type { ClaimedEntrypoint, Claimant, Won } from '../sql/claim.js';
import type { HandOver } from '../sql/insert-claimed.js';
import type { ClaimBook } from './claim-book.js';
import type { Dispatcher } from './dispatcher.js';
import type { WorkerContext } from './worker-context.js';

/** Where jobs that this worker has won come in: their claim is kept alive, and they run. */
export class Intake {
  private readonly entrypoints: readonly ClaimedEntrypoint[];
  private handed: Promise<unknown> | undefined;
  private isClosed = false;

  constructor(
    private readonly context: WorkerContext,
    private readonly book: ClaimBook,
    private readonly dispatcher: Dispatcher,
  ) {
    this.entrypoints = [...context.handlers.values()].map(({ entrypoint, retry, onFailure }) => ({
      name: entrypoint,
      maxAttempts: retry.maxAttempts,
      onFailure,
    }));
  }

  /** Whether nothing runs, waits for a slot, or is being handed over. */
  get isIdle(): boolean {
    return this.dispatcher.isIdle && this.handed === undefined;
  }

  async claim<W extends Won>(
    limit: number,
    from: (claimant: Claimant) => Promise<W>,
    entrypoints = this.entrypoints,
  ): Promise<W> {
    const company = !this.isIdle || !this.book.isEmpty;
    const claimant = { claimId: randomUUID(), worker: this.context.label, company, entrypoints };
    const result = await from(claimant);
    const { jobs } = result;
    if (jobs.length > 0) {
      this.book.open(
        claimant.claimId,
        jobs.map(({ id }) => id),
      );
      this.context.observe({ type: 'claimed', jobs });
      if (this.isClosed) this.dispatcher.release(jobs);
      else this.dispatcher.run(jobs, jobs.length === limit);
    }
    return result;
  }

  /** As `claim`, of one job that is inserted with its claim. Only where it starts at once. */
  readonly handOver: HandOver = (name, insert) => {
    if (!this.isIdle || this.dispatcher.wanted === 0 || this.isClosed) return undefined;
    const entrypoint = this.entrypoints.find((each) => each.name === name);
    if (entrypoint === undefined) return undefined;
    const claimed = this.claim(1, insert, [entrypoint]);
    const end = () => (this.handed = undefined);
    this.handed = claimed.then(end, end);
    return claimed;
  };

  /** Resolves when nothing is being handed over. */
  async settled(): Promise<void> {
    await this.handed;
  }

  /** From now on what is won is given back. */
  close(): void {
    this.isClosed = true;
  }
}

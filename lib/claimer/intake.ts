import { randomUUID } from 'node:crypto';
import type { ClaimedJob } from '../domain/job.js';
import type { ClaimedEntrypoint, Claimant, Won } from '../sql/claim.js';
import type { HandOver, InsertedClaimed } from '../sql/insert-claimed.js';
import type { ClaimBook } from './claim-book.js';
import type { Dispatcher } from './dispatcher.js';
import { reportError } from './report-error.js';
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

  async claim<W extends Won>(limit: number, from: (claimant: Claimant) => Promise<W>): Promise<W> {
    const company = !this.isIdle || !this.context.team.occupancy.isEmpty;
    const claimant = { claimId: randomUUID(), worker: this.context.label, company, entrypoints: this.entrypoints };
    const result = await from(claimant);
    const { jobs } = result;
    if (jobs.length > 0) {
      this.open(claimant.claimId, jobs);
      if (this.isClosed) this.dispatcher.release(jobs);
      else this.dispatcher.run(jobs, jobs.length === limit);
    }
    return result;
  }

  /** As `claim`, of one job that is inserted with its claim. Only where it starts at once, and others need not help. */
  readonly handOver: HandOver = (name, insert) => {
    const { dispatcher } = this;
    if (!this.isIdle || !dispatcher.hasRested || dispatcher.wanted === 0 || this.isClosed) return undefined;
    const entrypoint = this.entrypoints.find((each) => each.name === name);
    if (entrypoint === undefined) return undefined;
    const inserted = this.insert(entrypoint, insert);
    const end = () => (this.handed = undefined);
    this.handed = inserted.then(end, end);
    return inserted;
  };

  private async insert(entrypoint: ClaimedEntrypoint, insert: Parameters<HandOver>[1]): Promise<InsertedClaimed> {
    // Whoever dissolves the claim can't know whether the job has begun: its attempt is given back, as that of one with company.
    const claimant = { claimId: randomUUID(), worker: this.context.label, company: true, entrypoints: [entrypoint] };
    const inserted = await insert(claimant);
    const { jobs } = inserted;
    if (jobs.length > 0 && !this.isClosed) {
      this.open(claimant.claimId, jobs);
      this.dispatcher.run(jobs, true);
    } else if (jobs.length > 0) {
      // The connections of this worker may be closed by now.
      await inserted.giveBack().catch((error: unknown) => void reportError(this.context, 'settle', error));
    }
    return inserted;
  }

  private open(claimId: string, jobs: readonly ClaimedJob[]): void {
    this.book.open(
      claimId,
      jobs.map(({ id }) => id),
    );
    this.context.observe({ type: 'claimed', jobs });
  }

  /** Resolves when nothing is being handed over. */
  async settled(): Promise<void> {
    await this.handed;
  }

  /** From now on what is won is given back. */
  close(): void {
    this.isClosed = true;
  }
}

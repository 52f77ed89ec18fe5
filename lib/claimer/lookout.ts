import type { Database } from '../sql/database.js';
import { type Outlook, promoteJobs, readOutlook } from '../sql/promote.js';
import type { Isolation } from './isolation.js';
import type { WorkerContext } from './worker-context.js';

// A later job that is due, but was not let in, is locked.
const LOCKED_LATER = 50;

// The connection that listens looks once in each poll. While it does, nobody else has to.
const POLLS_OF_GRACE = 2;

export interface LookoutListener {
  /** Whether nothing is claimed until there may be something. If not, nobody has to look for that. */
  readonly isDry: () => boolean;
  /** There may be something to claim. */
  readonly onReady: () => void;
  /** How often it is called tells that somebody looks. `stale`: somebody's claims are no longer beaten. */
  readonly onLook: (stale: boolean) => void;
}

/** Knows when the next job is due, and whether some are to start alone. Times are those of this process's monotonic clock. */
export class Lookout {
  private readonly names: readonly string[];
  private nextLook = 0;
  private isWanted = false;

  constructor(
    private readonly context: WorkerContext,
    private readonly isolation: Isolation,
    private readonly listener: LookoutListener,
  ) {
    this.names = [...context.handlers.keys()];
  }

  /** Has it look before the next claim. */
  want(): void {
    this.isWanted = true;
  }

  get isDue(): boolean {
    return this.isWanted || this.wait <= 0;
  }

  /** Milliseconds until the next look. */
  get wait(): number {
    return this.nextLook - performance.now();
  }

  /** Looks, and lets in the jobs whose time has come. Returns whether there may be something to claim. */
  async look(): Promise<boolean> {
    const { db, names, options } = this.context;
    this.isWanted = false;
    const outlook = await this.read(db).catch((error: unknown) => {
      this.want(); // at the next try
      throw error;
    });
    this.schedule(outlook, options.pollInterval);
    if (!outlook.overdue) return outlook.ready;
    const count = await promoteJobs(db, names, { suspicion: this.isolation.suspicion, notify: options.notify });
    // There may be more, which the next look finds, after a claim.
    this.nextLook = performance.now() + (count > 0 ? 0 : LOCKED_LATER);
    return outlook.ready || count > 0;
  }

  /** Looks through the connection that listens. Returns whether it does listen. */
  async lookThrough(db: Database): Promise<boolean> {
    const outlook = await this.read(db);
    this.schedule(outlook, this.context.options.pollInterval * POLLS_OF_GRACE);
    if (outlook.overdue) this.want();
    if (outlook.overdue || outlook.ready) this.listener.onReady();
    return outlook.listening;
  }

  private async read(db: Database): Promise<Outlook> {
    const { names, options } = this.context;
    const { suspicion } = this.isolation;
    const { heartbeatTimeout } = options;
    const ready = this.listener.isDry();
    const outlook = await readOutlook(db, names, this.names, { suspicion, heartbeatTimeout, ready });
    this.listener.onLook(outlook.stale);
    return outlook;
  }

  private schedule({ alone, next = Infinity }: Outlook, longest: number): void {
    const now = performance.now();
    this.isolation.see(alone, now);
    this.nextLook = now + Math.min(next, longest, this.isolation.rest(now));
  }
}

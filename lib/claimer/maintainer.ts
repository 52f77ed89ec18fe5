import { pruneStatistics } from '../sql/retention.js';
import { foldStatistics } from '../sql/statistics.js';
import { pause } from '../waiting/bell.js';
import { LogPruner } from './log-pruner.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';

const INTERVAL = 60_000;
/** Give or take half, so that workers which started together don't meet. */
const JITTER = 0.5;

/** 64 MB of the log a minute and process, and so the cost of a round, however large it is. */
const STRETCHES = 8;

// The log may be kept for longer, and so are they then.
const STATISTICS_AGE = 30 * 86_400_000;

/**
 * Folds the statistics and deletes what is too old, there and in the log, about once a minute until it is stopped; in a team of
 * workers one of them does. All do so beside each other, and skip what another one has locked.
 */
export class Maintainer {
  private readonly stopped = new AbortController();
  private readonly pruner: LogPruner;
  private loop: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    /** Milliseconds between two rounds of its team. */
    private readonly interval: number = INTERVAL,
  ) {
    this.pruner = new LogPruner(context);
  }

  start(): void {
    this.loop ??= this.run();
  }

  /** Resolves when the statement that is under way has ended. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.loop;
  }

  /** One round. Looks at so many stretches of the log. */
  async maintain(stretches: number = STRETCHES): Promise<void> {
    const { db, names, options } = this.context;
    const { successful, failed } = options.retention;
    const { signal } = this.stopped;
    const age = Math.max(STATISTICS_AGE, successful, failed);
    await this.attempt(() => foldStatistics(db, names));
    await this.attempt(() => pruneStatistics(db, names, age));
    await this.attempt(() => this.pruner.prune(stretches, signal));
  }

  private async run(): Promise<void> {
    const { signal } = this.stopped;
    const { team } = this.context;
    await pause(this.interval * team.size * Math.random(), signal);
    while (!signal.aborted) {
      await this.maintain();
      await pause(this.interval * team.size * (1 + JITTER * (2 * Math.random() - 1)), signal);
    }
  }

  /** Until there is no more of it. What fails is tried again in the next round. */
  private async attempt(work: () => Promise<unknown>): Promise<void> {
    const { signal } = this.stopped;
    try {
      while (!signal.aborted && (await work()) === true);
    } catch (error) {
      reportError(this.context, 'maintain', error);
    }
  }
}

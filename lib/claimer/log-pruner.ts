import { countLogPages, type LogAges, pruneLog } from '../sql/retention.js';
import type { WorkerContext } from './worker-context.js';

/** Pages of a stretch: 8 MB, which takes milliseconds to look through. */
const STRETCH = 1_024;

// Whoever waits for a job learns its end from the log.
const YOUNGEST = 60_000;

/** Goes through the log's table again and again, and deletes what is too old. Begins somewhere, so that workers spread over it. */
export class LogPruner {
  private readonly ages: LogAges;
  private page: number | undefined;

  constructor(private readonly context: WorkerContext) {
    const { successful, failed } = context.options.retention;
    this.ages = {
      successful: Math.max(successful, YOUNGEST),
      failed: Math.max(failed, YOUNGEST),
    };
  }

  /** Goes through so many stretches, or all there are. Each batch of deletes is a transaction of its own. */
  async prune(stretches: number, signal: AbortSignal): Promise<void> {
    const { db, names } = this.context;
    const pages = await countLogPages(db, names);
    this.page ??= Math.floor((Math.random() * pages) / STRETCH) * STRETCH;
    const all = Math.ceil(pages / STRETCH);
    for (let done = 0; done < Math.min(stretches, all) && !signal.aborted; done++) {
      if (this.page >= pages) this.page = 0;
      const stretch = { from: this.page, to: this.page + STRETCH };
      while (!signal.aborted && (await pruneLog(db, names, stretch, this.ages)));
      this.page += STRETCH;
    }
  }
}

import type { InsertedJob, NewJob } from '../sql/enqueue.js';
import { sqlState } from '../sql/transient.js';

/** More connections than these make their commits no faster. */
const UNDER_WAY = 2;
/** Calls of more jobs gain nothing. */
const LARGEST_CALL = 100;
const BATCH = 1_000;

type Insert = (jobs: readonly NewJob[]) => Promise<InsertedJob[]>;

interface Call {
  readonly jobs: readonly NewJob[];
  readonly resolve: (inserted: InsertedJob[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Has calls that come at the same time share a statement, and with it a commit and a notification: while some are under way the
 * next gather. No timer delays a lone call.
 */
export class SharedInserts {
  private readonly waiting: Call[] = [];
  private underWay = 0;

  constructor(private readonly insert: Insert) {}

  /** Those with a key wait for others' transactions, and are refused as a whole. */
  takes(jobs: readonly NewJob[]): boolean {
    return jobs.length <= LARGEST_CALL && jobs.every(({ dedupeKey }) => dedupeKey === null);
  }

  add(jobs: readonly NewJob[]): Promise<InsertedJob[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ jobs, resolve, reject });
      if (this.underWay < UNDER_WAY) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.underWay++;
    await Promise.resolve(); // what comes in this tick goes together
    while (this.waiting.length > 0) await this.write(this.takeBatch());
    this.underWay--;
  }

  private takeBatch(): Call[] {
    let size = 0;
    const end = this.waiting.findIndex(({ jobs }) => (size += jobs.length) > BATCH);
    return this.waiting.splice(0, end > 0 ? end : this.waiting.length);
  }

  private async write(calls: readonly Call[]): Promise<void> {
    try {
      const inserted = await this.insert(calls.flatMap(({ jobs }) => jobs));
      let start = 0;
      for (const { jobs, resolve } of calls) {
        const own = inserted.slice(start, (start += jobs.length));
        resolve(own.map((each, index) => ({ ...each, index })));
      }
    } catch (error) {
      // What the server refuses for the sake of one job is no fault of the others.
      if (calls.length > 1 && sqlState(error) !== undefined) for (const call of calls) await this.write([call]);
      else for (const { reject } of calls) reject(error);
    }
  }
}

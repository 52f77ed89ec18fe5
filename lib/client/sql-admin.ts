import { checkEntrypointName } from '../domain/entrypoint-name.js';
import { QueueClosedError } from '../domain/errors.js';
import type { JobAction } from '../sql/admin-action.js';
import { cancelJobs } from '../sql/admin-cancel.js';
import { countJobs } from '../sql/admin-counts.js';
import { readJob, readJobs } from '../sql/admin-jobs.js';
import { pauseEntrypoint, resumeEntrypoint } from '../sql/admin-pause.js';
import { clearJobs, removeJobs, type ClearRequest } from '../sql/admin-remove.js';
import { requeueJobs } from '../sql/admin-requeue.js';
import type { Database } from '../sql/database.js';
import type { Names } from '../sql/names.js';
import { readStatistics } from '../sql/statistics.js';
import { checkClearFilter, checkIds, checkJobFilter, checkStatisticsFilter } from './admin-checks.js';
import type { ClearFilter, JobFilter, PgQueueAdmin, StatisticsFilter } from './admin.js';
import { InFlight } from './in-flight.js';
import { checkId } from './job-id.js';

export interface AdminContext {
  readonly queue: string;
  readonly db: Database;
  readonly names: Names;
  readonly notify: boolean;
}

const DEFAULT_PAGE = 100;
/** Jobs in one transaction. */
const BATCH = 1_000;
// For a database that doesn't answer.
const CLOSE_GRACE = 2_000;

/** The admin over SQL. */
export class SqlAdmin implements PgQueueAdmin {
  private readonly inFlight = new InFlight();
  private closed = false;

  constructor(private readonly context: AdminContext) {}

  async counts() {
    return this.run(countJobs);
  }

  async jobs(filter: JobFilter = {}) {
    const { status, entrypoint, dedupeKey, after, limit = DEFAULT_PAGE } = checkJobFilter(filter, 'jobs');
    return this.run((db, names) => readJobs(db, names, { status, entrypoint, dedupeKey, after, limit }));
  }

  async job(id: string) {
    const checked = checkId(id, 'job.id');
    return this.run((db, names) => readJob(db, names, checked));
  }

  async statistics(range: StatisticsFilter) {
    const checked = checkStatisticsFilter(range, new Date());
    return this.run((db, names) => readStatistics(db, names, checked));
  }

  async requeue(ids: readonly string[]) {
    const idsOf = await this.act(checkIds(ids, 'requeue.ids'), requeueJobs);
    return { requeued: idsOf('requeued'), conflicts: idsOf('conflict') };
  }

  async cancel(ids: readonly string[]) {
    const idsOf = await this.act(checkIds(ids, 'cancel.ids'), cancelJobs);
    return { canceled: idsOf('canceled'), requested: idsOf('requested') };
  }

  async remove(ids: readonly string[]) {
    const idsOf = await this.act(checkIds(ids, 'remove.ids'), removeJobs);
    return { removed: idsOf('removed'), running: idsOf('running') };
  }

  async pause(entrypoint: string) {
    const name = checkEntrypointName(entrypoint, 'pause.entrypoint');
    return this.run((db, names) => pauseEntrypoint(db, names, name));
  }

  async resume(entrypoint: string) {
    const name = checkEntrypointName(entrypoint, 'resume.entrypoint');
    return this.run((db, names) => resumeEntrypoint(db, names, name, this.context.notify));
  }

  async clear(filter: ClearFilter) {
    const { status = 'any', entrypoint } = checkClearFilter(filter, 'clear');
    let total = 0;
    let below: string | undefined;
    do {
      const request: ClearRequest = { status, entrypoint, below, limit: BATCH };
      const batch = await this.run((db, names) => clearJobs(db, names, request, this.context.notify));
      total += batch.count;
      below = batch.below;
    } while (below !== undefined);
    return total;
  }

  /** From now on a typed error answers. What is under way is awaited, before its connections are taken away. */
  close(): Promise<void> {
    this.closed = true;
    return this.inFlight.end(CLOSE_GRACE, new QueueClosedError(this.context.queue));
  }

  private async act<Outcome extends string>(ids: readonly string[], action: JobAction<Outcome>) {
    const { notify } = this.context;
    const outcomes = new Map<string, Outcome>();
    for (let start = 0; start < ids.length; start += BATCH) {
      const batch = ids.slice(start, start + BATCH);
      const left = await this.record(outcomes, (db, names) => action(db, names, batch, { notify, locking: 'skip' }));
      for (const id of batch.filter((each) => left.has(each))) {
        await this.record(outcomes, (db, names) => action(db, names, [id], { notify, locking: 'wait' }));
      }
    }
    return (wanted: Outcome) => ids.filter((id) => outcomes.get(id) === wanted);
  }

  /** Returns the ids of those that are left. */
  private async record<Outcome extends string>(
    outcomes: Map<string, Outcome>,
    action: (db: Database, names: Names) => ReturnType<JobAction<Outcome>>,
  ): Promise<ReadonlySet<string>> {
    const left = new Set<string>();
    for (const { id, outcome } of await this.run(action)) {
      if (outcome === 'left') left.add(id);
      else outcomes.set(id, outcome);
    }
    return left;
  }

  private async run<T>(work: (db: Database, names: Names) => Promise<T>): Promise<T> {
    if (this.closed) throw new QueueClosedError(this.context.queue);
    return this.inFlight.run(work(this.context.db, this.context.names));
  }
}

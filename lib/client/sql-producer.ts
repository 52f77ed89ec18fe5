import type { DataSource, EntityManager } from 'typeorm';
import { DuplicateJobError, QueueClosedError } from '../domain/errors.js';
import type { AmbientTransaction } from '../options.js';
import type { Database } from '../sql/database.js';
import { insertJobs, type InsertedJob, type NewJob } from '../sql/enqueue.js';
import { type HandOver, insertClaimed, isDueAtOnce } from '../sql/insert-claimed.js';
import { openManager } from '../sql/manager.js';
import type { Names } from '../sql/names.js';
import { isContention } from '../sql/transient.js';
import { InFlight } from './in-flight.js';
import { checkJob, checkJobs, checkTarget } from './new-job.js';
import { SharedInserts } from './shared-inserts.js';
import type { EnqueuedJob, EnqueueOptions, EnqueueTarget, JobInput, PgQueueProducer } from './producer.js';

export interface ProducerContext {
  readonly queue: string;
  readonly dataSource: DataSource;
  readonly db: Database;
  readonly names: Names;
  readonly notify: boolean;
  readonly transaction: AmbientTransaction | undefined;
  readonly handOver: HandOver;
}

// For a database that doesn't answer.
const CLOSE_GRACE = 2_000;
const ATTEMPTS = 5;

/** The producer over SQL. */
export class SqlProducer implements PgQueueProducer {
  private readonly inFlight = new InFlight();
  private readonly shared: SharedInserts;
  private closed = false;

  constructor(private readonly context: ProducerContext) {
    this.shared = new SharedInserts((jobs) => this.insertAlone(jobs));
  }

  async enqueue(
    entrypoint: string,
    payload?: unknown,
    given: EnqueueOptions & EnqueueTarget = {},
  ): Promise<EnqueuedJob> {
    const [job] = await this.insert([checkJob(entrypoint, payload, given, 'enqueue')], given.manager);
    if (job === undefined) throw new Error('The insert returned no id');
    return job;
  }

  async enqueueMany(jobs: readonly JobInput[], target: EnqueueTarget = {}): Promise<EnqueuedJob[]> {
    const { manager } = checkTarget(target, 'enqueueMany');
    return this.insert(checkJobs(jobs, 'jobs'), manager);
  }

  /** From now on a typed error answers. What is under way is awaited, before its connections are taken away. */
  close(): Promise<void> {
    this.closed = true;
    return this.inFlight.end(CLOSE_GRACE, new QueueClosedError(this.context.queue));
  }

  private async insert(jobs: readonly NewJob[], given: EntityManager | undefined): Promise<EnqueuedJob[]> {
    const { queue, transaction } = this.context;
    if (this.closed) throw new QueueClosedError(queue);
    const db = await (given === undefined
      ? this.databaseOf(transaction?.(), 'What the option transaction returned')
      : this.databaseOf(given, 'The option manager'));
    if (jobs.length === 0) return [];
    const inserted = await this.inFlight.run(this.write(db, jobs));
    for (const { id, index, outcome } of inserted) if (outcome === 'refused') throw duplicate(jobs[index], id);
    return inserted.map((each) => toEnqueued(each, jobs[each.index]));
  }

  // What is a caller's transaction has failed as a whole, and is theirs to try again.
  private write(db: Database, jobs: readonly NewJob[]): Promise<InsertedJob[]> {
    const { db: own, names, notify } = this.context;
    if (db !== own) return insertJobs(db, names, jobs, notify);
    return this.shared.takes(jobs) ? this.shared.add(jobs) : this.insertAlone(jobs);
  }

  private insertAlone(jobs: readonly NewJob[]): Promise<InsertedJob[]> {
    const { db, names, notify } = this.context;
    return this.handOver(jobs) ?? retryContention(() => insertJobs(db, names, jobs, notify));
  }

  private handOver([job, ...more]: readonly NewJob[]): Promise<InsertedJob[]> | undefined {
    const { db, names, notify, handOver } = this.context;
    if (job === undefined || more.length > 0 || !isDueAtOnce(job)) return undefined;
    return handOver(job.entrypoint, (claimant) =>
      retryContention(() => insertClaimed(db, names, job, claimant, notify)),
    )?.then(({ inserted }) => [inserted]);
  }

  // A manager without a query runner, such as dataSource.manager, has no transaction: TypeORM takes any free connection, and so do
  // we. The pool itself, as what is asked through a DataSource that a library has patched may end up in somebody's transaction.
  private async databaseOf(manager: EntityManager | undefined, what: string): Promise<Database> {
    if (manager === undefined) return this.context.db;
    return (await openManager(manager, this.context, what)) ?? this.context.db;
  }
}

// Calls of ours never deadlock with each other, but they may with transactions that lock jobs in an order of their own. The server
// has made us wait for deadlock_timeout by then, which is pause enough.
async function retryContention<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !isContention(error)) throw error;
    }
  }
}

function toEnqueued({ id, outcome }: InsertedJob, job: NewJob | undefined): EnqueuedJob {
  if (id === undefined) throw new Error('The insert returned no id');
  const duplicate = outcome !== 'inserted';
  return duplicate && job?.onConflict === 'replace'
    ? { id, duplicate, replaced: outcome === 'replaced' }
    : { id, duplicate };
}

function duplicate(job: NewJob | undefined, id: string | undefined): DuplicateJobError {
  return new DuplicateJobError(job?.entrypoint ?? '', job?.dedupeKey ?? '', id);
}

import { hostname } from 'node:os';
import type { DataSource } from 'typeorm';
import { collectAttempts } from '../claimer/drained-attempts.js';
import type { Handler, WorkerContext } from '../claimer/worker-context.js';
import type { WorkerObserver } from '../claimer/worker-event.js';
import { Worker } from '../claimer/worker.js';
import { QueueClosedError, WorkerDisabledError } from '../domain/errors.js';
import type { ResolvedOptions } from '../options.js';
import { openPool } from '../sql/connections.js';
import { readCommittedDatabase } from '../sql/database.js';
import { listenThrough } from '../sql/listen.js';
import type { Names } from '../sql/names.js';
import type { DrainedJob, PgQueueWorker } from './pg-queue-worker.js';
import { logEvents } from './worker-logger.js';

export interface QueueWorkerContext {
  readonly queue: string;
  readonly options: ResolvedOptions;
  readonly dataSource: DataSource;
  readonly names: Names;
  /** Found in the application, and so not before all of it is there. */
  readonly handlers: () => readonly Handler[];
}

// One each for what runs at the same time: claiming, settling, beating. None can wait for another.
const CONNECTIONS = 3;
// All is written by then, or can't be.
const END_GRACE = 500;

interface Running {
  readonly worker: Worker;
  stop(): Promise<void>;
}

/** Each start and each drain is a `Worker` of its own, with connections of its own. */
export class QueueWorker implements PgQueueWorker {
  private readonly drains = new Set<Running>();
  private running: Running | undefined;
  private stopping: Promise<void> | undefined;
  private closed = false;

  constructor(private readonly context: QueueWorkerContext) {}

  async start(): Promise<void> {
    await this.stopping;
    this.checkOpen();
    if (this.running !== undefined) return;
    this.running = this.open(logEvents(this.context.queue));
    this.running.worker.start();
  }

  stop(): Promise<void> {
    const { running } = this;
    if (running === undefined) return this.stopping ?? Promise.resolve();
    this.running = undefined;
    return (this.stopping = running.stop().finally(() => (this.stopping = undefined)));
  }

  async drain({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<DrainedJob[]> {
    this.checkOpen();
    const log = logEvents(this.context.queue);
    const drained = collectAttempts();
    const running = this.open((event) => {
      drained.observe(event);
      log(event);
    });
    this.drains.add(running);
    try {
      await running.worker.drain(signal);
    } finally {
      await running.stop();
      this.drains.delete(running);
    }
    return drained.attempts;
  }

  /** Ends whatever runs, for good. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([this.stop(), ...[...this.drains].map((each) => each.stop())]);
  }

  private checkOpen(): void {
    const { queue, options } = this.context;
    if (this.closed) throw new QueueClosedError(queue);
    if (options.worker === false) throw new WorkerDisabledError(queue);
  }

  private open(observe: WorkerObserver): Running {
    const { dataSource, options } = this.context;
    const { pool, end } = openPool(dataSource, CONNECTIONS);
    const context = this.contextFor(
      readCommittedDatabase(() => pool),
      observe,
    );
    const worker = new Worker(context, listenThrough(dataSource, options.listenUrl));
    let stopped: Promise<void> | undefined;
    return { worker, stop: () => (stopped ??= worker.stop().then(() => end(END_GRACE))) };
  }

  private contextFor(db: WorkerContext['db'], observe: WorkerObserver): WorkerContext {
    const { options, names, queue } = this.context;
    if (options.worker === false) throw new WorkerDisabledError(queue);
    return {
      db,
      names,
      options: { ...options.worker, notify: options.notify },
      handlers: new Map(this.context.handlers().map((handler) => [handler.entrypoint, handler])),
      label: `${hostname()}:${process.pid}`,
      observe,
    };
  }
}

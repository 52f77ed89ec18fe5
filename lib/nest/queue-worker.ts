import { AsyncResource } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { DataSource } from 'typeorm';
import { collectAttempts } from '../claimer/drained-attempts.js';
import type { Handler, WorkerContext } from '../claimer/worker-context.js';
import type { WorkerObserver } from '../claimer/worker-event.js';
import { Worker } from '../claimer/worker.js';
import { QueueClosedError, WorkerDisabledError } from '../domain/errors.js';
import type { ResolvedOptions } from '../options.js';
import type { HandOver } from '../sql/insert-claimed.js';
import { listenThrough } from '../sql/listen.js';
import type { Names } from '../sql/names.js';
import type { DrainedJob, PgQueueWorker } from './pg-queue-worker.js';
import { joinTeam, type Membership } from './teams.js';
import { logEvents } from './worker-logger.js';

export interface QueueWorkerContext {
  readonly queue: string;
  readonly options: ResolvedOptions;
  readonly dataSource: DataSource;
  readonly names: Names;
  /** Found in the application, and so not before all of it is there. */
  readonly handlers: () => readonly Handler[];
}

/** Tells people, and other workers, which process this is. */
const PROCESS = `${randomBytes(3).toString('hex')}@${hostname()}:${process.pid}`;

// All is written by then, or can't be.
const END_GRACE = 500;

interface Running {
  readonly worker: Worker;
  stop(): Promise<void>;
}

/** Each start and each drain is a `Worker` of its own. */
export class QueueWorker implements PgQueueWorker {
  private readonly drains = new Set<Running>();
  private running: Running | undefined;
  /** Starts and stops wait for those before, so that the last one called decides. */
  private turn: Promise<void> = Promise.resolve();
  private closed = false;
  /** That of the application, and not of the request that starts the worker. */
  private readonly scope = new AsyncResource('PgQueueWorker');

  constructor(private readonly context: QueueWorkerContext) {}

  start(): Promise<void> {
    return this.inTurn(() => {
      this.checkOpen();
      this.running ??= this.begin();
    });
  }

  stop(): Promise<void> {
    return this.inTurn(async () => {
      await this.running?.stop();
      this.running = undefined;
    });
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
      await this.scope.runInAsyncScope(() => running.worker.drain(signal));
    } finally {
      await running.stop();
      this.drains.delete(running);
    }
    return drained.attempts();
  }

  /** Has a job inserted for the worker that was started. The statement belongs to the one who enqueues, and what is run to the application. */
  readonly handOver: HandOver = (entrypoint, insert) => {
    const { running } = this;
    if (running === undefined) return undefined;
    const own = AsyncResource.bind(insert);
    return this.scope.runInAsyncScope(() => running.worker.handOver(entrypoint, own));
  };

  /** Ends whatever runs, for good. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([this.stop(), ...[...this.drains].map((each) => each.stop())]);
  }

  private inTurn(step: () => void | Promise<void>): Promise<void> {
    const done = this.turn.then(step);
    this.turn = done.catch(() => undefined);
    return done;
  }

  private checkOpen(): void {
    const { queue, options } = this.context;
    if (this.closed) throw new QueueClosedError(queue);
    if (options.worker === false) throw new WorkerDisabledError(queue);
  }

  private begin(): Running {
    const running = this.open(logEvents(this.context.queue));
    this.scope.runInAsyncScope(() => running.worker.start());
    return running;
  }

  private open(observe: WorkerObserver): Running {
    const { dataSource, names, options } = this.context;
    const handlers = this.context.handlers();
    const membership = joinTeam(dataSource, names.schema);
    const context = this.contextFor(membership, handlers, observe);
    const worker = new Worker(context, listenThrough(dataSource, options.listenUrl));
    let stopped: Promise<void> | undefined;
    return { worker, stop: () => (stopped ??= worker.stop().then(() => membership.leave(END_GRACE))) };
  }

  private contextFor({ db, team }: Membership, handlers: readonly Handler[], observe: WorkerObserver): WorkerContext {
    const { options, names, queue } = this.context;
    if (options.worker === false) throw new WorkerDisabledError(queue);
    return {
      db,
      names,
      team,
      options: { ...options.worker, notify: options.notify, retention: options.retention },
      handlers: new Map(handlers.map((handler) => [handler.entrypoint, handler])),
      label: PROCESS,
      observe,
    };
  }
}

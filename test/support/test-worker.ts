import { DataSource } from 'typeorm';
import type { Handler } from '../../lib/claimer/worker-context.js';
import { Team } from '../../lib/claimer/team.js';
import type { WorkerEvent, WorkerObserver } from '../../lib/claimer/worker-event.js';
import { Worker } from '../../lib/claimer/worker.js';
import { resolveOptions, type PgQueueOptions, type WorkerOptions } from '../../lib/options.js';
import { openPool } from '../../lib/sql/connections.js';
import { type Database, ownDatabase } from '../../lib/sql/database.js';
import { type Listen, listenThrough } from '../../lib/sql/listen.js';
import { createNames } from '../../lib/sql/names.js';
import { deferred } from './deferred.js';

export interface TestWorker {
  /** How often it has asked the database so far; a transaction counts for what is asked in it. */
  readonly statements: () => number;
  /** All events so far. */
  readonly events: readonly WorkerEvent[];
  /** Resolves with the first event, past or to come, that fits. */
  event<T extends WorkerEvent['type']>(
    type: T,
    fits?: (event: Extract<WorkerEvent, { type: T }>) => boolean,
  ): Promise<Extract<WorkerEvent, { type: T }>>;
  stop(): Promise<void>;
}

export type TestHandlers = Record<string, Handler['run']>;

export interface TestWorkerOptions
  extends WorkerOptions, Pick<PgQueueOptions, 'notify' | 'listenUrl' | 'defaults' | 'schema' | 'retention'> {
  /** How it is called in the log. */
  label?: string;
  /** Hears of each event while it happens. */
  observe?: WorkerObserver;
  /** Stands between the worker and its connection that listens. */
  listen?: (listen: Listen) => Listen;
  /** Of which it is, else it is a rival of all others. */
  team?: Team;
  /** Called when the application is connected and the worker is about to be. */
  beforeStart?: () => unknown;
}

/** A worker without Nest, with all its events to await. */
export async function startWorker(
  url: string,
  handlers: TestHandlers,
  given: TestWorkerOptions = {},
): Promise<TestWorker> {
  const {
    notify,
    listenUrl,
    defaults,
    schema,
    retention,
    label = 'test',
    observe,
    listen = same,
    beforeStart,
    team = new Team(),
    ...worker
  } = given;
  const options = resolveOptions({ notify, listenUrl, defaults, schema, retention, worker });
  const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
  await beforeStart?.();
  const { pool, end } = openPool(dataSource, 4);
  team.size++;
  const log = eventLog(observe);
  const counter = { count: 0 };
  const context = {
    db: counted(ownDatabase(pool), counter),
    names: createNames(options.schema),
    team,
    options: {
      ...(options.worker as Exclude<typeof options.worker, false>),
      notify: options.notify,
      retention: options.retention,
    },
    handlers: new Map(
      Object.entries(handlers).map(([entrypoint, run]) => [entrypoint, { entrypoint, ...options.defaults, run }]),
    ),
    label,
    observe: log.observe,
  };
  const listening = listenThrough(dataSource, options.listenUrl);
  const countedListen: Listen = ({ check, ...request }) =>
    listening({ ...request, check: check && ((db) => check(counted(db, counter))) });
  const started = new Worker(context, listen(countedListen));
  started.start();
  const stop = async () => {
    await started.stop();
    team.size--;
    await end(500);
    await dataSource.destroy();
  };
  return { ...log, statements: () => counter.count, stop };
}

const same = (listen: Listen) => listen;

function counted(db: Database, counter: { count: number }): Database {
  return {
    query: (...query) => {
      counter.count++;
      return db.query(...query);
    },
    transaction: (work) => db.transaction((own) => work(counted(own, counter))),
  };
}

function eventLog(also: WorkerObserver = () => undefined) {
  const events: WorkerEvent[] = [];
  const waiting = new Set<() => void>();
  const observe = (event: WorkerEvent) => {
    events.push(event);
    for (const look of waiting) look();
    also(event);
  };
  const event: TestWorker['event'] = (type, fits = () => true) => {
    const { promise, resolve } = deferred<Extract<WorkerEvent, { type: typeof type }>>();
    const isWanted = (each: WorkerEvent): each is Extract<WorkerEvent, { type: typeof type }> =>
      each.type === type && fits(each as Extract<WorkerEvent, { type: typeof type }>);
    const look = () => {
      const found = events.find(isWanted);
      if (found !== undefined) resolve(found);
    };
    waiting.add(look);
    look();
    return promise.finally(() => waiting.delete(look));
  };
  return { events, observe, event };
}

/**
 * As much of the peers' types as the benchmark uses. The peers are no dependencies of the repository, so that its types can be
 * checked without them.
 */
declare module 'graphile-worker' {
  export interface JobSpec {
    identifier: string;
    payload: unknown;
    runAt?: Date;
    priority?: number;
  }
  export interface WorkerUtils {
    migrate(): Promise<void>;
    addJob(identifier: string, payload: unknown): Promise<unknown>;
    addJobs(jobs: readonly JobSpec[]): Promise<unknown>;
    release(): Promise<void>;
  }
  export interface Preset {
    worker: {
      connectionString: string;
      concurrentJobs?: number;
      maxPoolSize?: number;
      localQueue?: { size: number };
      completeJobBatchDelay?: number;
      failJobBatchDelay?: number;
      logger: Logger;
    };
  }
  export class Logger {
    constructor(factory: () => () => void);
  }
  export function makeWorkerUtils(options: { preset: Preset }): Promise<WorkerUtils>;
  export function run(options: {
    preset: Preset;
    taskList: Record<string, () => Promise<void>>;
    noHandleSignals: boolean;
  }): Promise<{ stop(): Promise<void> }>;
}

declare module 'pg-boss' {
  export interface JobInsert {
    data: object;
    startAfter?: number;
    priority?: number;
  }
  export interface WorkOptions {
    batchSize: number;
    burstWhenBatchFull: boolean;
    pollingIntervalSeconds?: number;
  }
  export class PgBoss {
    constructor(options: { connectionString: string; useListenNotify: boolean });
    start(): Promise<unknown>;
    stop(options: { graceful: boolean }): Promise<void>;
    createQueue(name: string, options: { notify: boolean }): Promise<void>;
    send(name: string, data: object): Promise<string | null>;
    insert(name: string, jobs: readonly JobInsert[]): Promise<unknown>;
    work(name: string, options: WorkOptions, handler: (jobs: readonly unknown[]) => Promise<void>): Promise<string>;
    offWork(name: string): Promise<void>;
    on(event: 'error', listener: (error: Error) => void): void;
  }
}

declare module 'bullmq' {
  export interface JobOptions {
    delay?: number;
    priority?: number;
    removeOnComplete?: boolean;
  }
  export type BackendFactory = (...args: never) => unknown;
  export const createPostgresBackend: BackendFactory;
  export class Queue {
    constructor(
      name: string,
      options: { connection: unknown; defaultJobOptions: JobOptions },
      backend: BackendFactory | undefined,
    );
    waitUntilReady(): Promise<unknown>;
    add(name: string, data: object): Promise<unknown>;
    addBulk(jobs: readonly { name: string; data: object; opts: JobOptions }[]): Promise<unknown>;
    getJobCountByTypes(...types: string[]): Promise<number>;
    close(): Promise<void>;
  }
  export class Worker {
    constructor(
      name: string,
      processor: () => Promise<void>,
      options: { connection: unknown; concurrency: number; autorun: boolean },
      backend: BackendFactory | undefined,
    );
    waitUntilReady(): Promise<unknown>;
    run(): Promise<void>;
    close(): Promise<void>;
    on(event: 'error', listener: (error: Error) => void): void;
  }
}

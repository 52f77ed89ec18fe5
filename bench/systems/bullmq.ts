import { type BackendFactory, createPostgresBackend, Queue, Worker } from 'bullmq';
import { type BenchJob, type CreateSystem, NOOP, PAYLOAD, type System } from './system.js';

export interface BullMqOptions {
  readonly concurrency: number;
}

/** On PostgreSQL or on Redis, whichever the URL says. */
class BullMqSystem implements System {
  private readonly connection: unknown;
  private readonly backend: BackendFactory | undefined;
  private readonly queue: Queue;

  constructor(
    url: string,
    private readonly options: BullMqOptions,
  ) {
    const { protocol, hostname, port, pathname } = new URL(url);
    const onRedis = protocol === 'redis:';
    this.backend = onRedis ? undefined : createPostgresBackend;
    this.connection = onRedis
      ? { host: hostname, port: Number(port), db: Number(pathname.slice(1)), maxRetriesPerRequest: null }
      : { connectionString: url, migrate: true };
    const { connection } = this;
    this.queue = new Queue(NOOP, { connection, defaultJobOptions: { removeOnComplete: true } }, this.backend);
  }

  async open(): Promise<void> {
    await this.queue.waitUntilReady();
  }

  enqueue(): Promise<unknown> {
    return this.queue.add(NOOP, PAYLOAD);
  }

  enqueueMany(jobs: readonly BenchJob[]): Promise<unknown> {
    return this.queue.addBulk(
      jobs.map(({ name = NOOP, delay = 0, urgent }) => ({
        name,
        data: PAYLOAD,
        opts: { delay, ...(urgent === undefined ? {} : { priority: urgent ? 1 : 2 }) },
      })),
    );
  }

  async startWorker(handle: () => void): Promise<() => Promise<unknown>> {
    const { connection, options } = this;
    const processor = () => {
      handle();
      return Promise.resolve();
    };
    const worker = new Worker(NOOP, processor, { connection, ...options, autorun: false }, this.backend);
    worker.on('error', (error) => console.error(error));
    await worker.waitUntilReady();
    void worker.run();
    return () => worker.close();
  }

  async isDrained(): Promise<boolean> {
    return (await this.queue.getJobCountByTypes('waiting', 'active', 'prioritized')) === 0;
  }

  close(): Promise<void> {
    return this.queue.close();
  }
}

export const createSystem: CreateSystem<BullMqOptions> = (url, options) => new BullMqSystem(url, options);

import { Pool } from 'pg';
import { PgBoss, type WorkOptions } from 'pg-boss';
import { type BenchJob, type CreateSystem, NOOP, PAYLOAD, type System } from './system.js';

class PgBossSystem implements System {
  private readonly boss: PgBoss;
  private readonly pool: Pool;
  private readonly queues = new Set<string>();

  constructor(
    url: string,
    private readonly options: WorkOptions,
  ) {
    this.boss = new PgBoss({ connectionString: url, useListenNotify: true });
    this.boss.on('error', (error) => console.error(error));
    this.pool = new Pool({ connectionString: url, max: 1 });
  }

  async open(): Promise<void> {
    await this.boss.start();
    await this.ensureQueue(NOOP);
  }

  enqueue(): Promise<unknown> {
    return this.boss.send(NOOP, PAYLOAD);
  }

  async enqueueMany(jobs: readonly BenchJob[]): Promise<void> {
    for (const name of new Set(jobs.map((job) => job.name ?? NOOP))) {
      const group = jobs.filter((job) => (job.name ?? NOOP) === name);
      await this.ensureQueue(name);
      await this.boss.insert(
        name,
        group.map(({ delay, urgent = false }) => ({
          data: PAYLOAD,
          ...(delay === undefined ? {} : { startAfter: delay / 1_000 }),
          priority: urgent ? 10 : 0,
        })),
      );
    }
  }

  async startWorker(handle: () => void): Promise<() => Promise<unknown>> {
    await this.boss.work(NOOP, this.options, (jobs) => {
      jobs.forEach(() => handle());
      return Promise.resolve();
    });
    return () => this.boss.offWork(NOOP);
  }

  async isDrained(): Promise<boolean> {
    const { rowCount } = await this.pool.query(
      `select from pgboss.job where name = $1 and state in ('created', 'retry', 'active') limit 1`,
      [NOOP],
    );
    return rowCount === 0;
  }

  async close(): Promise<void> {
    await this.boss.stop({ graceful: false });
    await this.pool.end();
  }

  private async ensureQueue(name: string): Promise<void> {
    if (this.queues.has(name)) return;
    this.queues.add(name);
    await this.boss.createQueue(name, { notify: true });
  }
}

export const createSystem: CreateSystem<WorkOptions> = (url, options) => new PgBossSystem(url, options);

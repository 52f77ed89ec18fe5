import { Logger, makeWorkerUtils, type Preset, run, type WorkerUtils } from 'graphile-worker';
import { Pool } from 'pg';
import { type BenchJob, type CreateSystem, NOOP, PAYLOAD, type System } from './system.js';

/** Options of its preset. */
export type GraphileOptions = Omit<Preset['worker'], 'connectionString' | 'logger'>;

const silent = () => () => undefined;

class GraphileSystem implements System {
  private readonly preset: Preset;
  private readonly pool: Pool;
  private utils!: WorkerUtils;

  constructor(url: string, options: GraphileOptions) {
    this.preset = { worker: { ...options, connectionString: url, logger: new Logger(silent) } };
    this.pool = new Pool({ connectionString: url, max: 1 });
  }

  async open(): Promise<void> {
    this.utils = await makeWorkerUtils({ preset: this.preset });
    await this.utils.migrate();
  }

  enqueue(): Promise<unknown> {
    return this.utils.addJob(NOOP, PAYLOAD);
  }

  enqueueMany(jobs: readonly BenchJob[]): Promise<unknown> {
    return this.utils.addJobs(
      jobs.map(({ name = NOOP, delay, urgent = false }) => ({
        identifier: name,
        payload: PAYLOAD,
        ...(delay === undefined ? {} : { runAt: new Date(Date.now() + delay) }),
        priority: urgent ? -10 : 0, // the smaller, the sooner
      })),
    );
  }

  async startWorker(handle: () => void): Promise<() => Promise<unknown>> {
    const task = () => {
      handle();
      return Promise.resolve();
    };
    const runner = await run({ preset: this.preset, taskList: { [NOOP]: task }, noHandleSignals: true });
    return () => runner.stop();
  }

  async isDrained(): Promise<boolean> {
    const { rowCount } = await this.pool.query('select from graphile_worker._private_jobs limit 1');
    return rowCount === 0;
  }

  async close(): Promise<void> {
    await this.utils.release();
    await this.pool.end();
  }
}

export const createSystem: CreateSystem<GraphileOptions> = (url, options) => new GraphileSystem(url, options);

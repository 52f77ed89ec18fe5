import { Client, Pool } from 'pg';
import { advisory } from '../strategies/advisory.js';
import { assigned } from '../strategies/assigned.js';
import { blocking } from '../strategies/blocking.js';
import { Claimer, type ClaimerOptions, pollOf } from '../strategies/claimer.js';
import { Coordinator } from '../strategies/coordinator.js';
import { skipLocked } from '../strategies/skip-locked.js';
import { JOB_CHANNEL, JOB_TABLE, type StrategyDefinition } from '../strategies/strategy.js';
import { type BenchJob, type CreateSystem, PAYLOAD, type System } from './system.js';

const STRATEGIES = { skipLocked, blocking, advisory, assigned } as const satisfies Record<string, StrategyDefinition>;

export interface StrategyOptions extends ClaimerOptions {
  readonly strategy: keyof typeof STRATEGIES;
  /** What its worker is. @default 'claimer' */
  readonly role?: 'claimer' | 'coordinator';
}

const INSERT = {
  name: 'insert',
  text: 'insert into job (payload) select payload from unnest($1::json[]) as payload',
};

/** A queue of bare SQL that hands out its jobs by one of several strategies. */
class StrategySystem implements System {
  private readonly pool: Pool;
  /** Of the claimer or the coordinator. */
  private readonly client: Client;
  private readonly definition: StrategyDefinition;

  constructor(
    url: string,
    private readonly options: StrategyOptions,
  ) {
    this.pool = new Pool({ connectionString: url });
    this.client = new Client({ connectionString: url });
    this.definition = STRATEGIES[options.strategy];
  }

  async open(): Promise<void> {
    await this.client.connect();
    await this.client.query(`${JOB_TABLE}; ${this.definition.tables}`);
  }

  enqueue(): Promise<unknown> {
    return this.enqueueMany([{}]);
  }

  async enqueueMany(jobs: readonly BenchJob[]): Promise<void> {
    await this.pool.query({ ...INSERT, values: [jobs.map(() => JSON.stringify(PAYLOAD))] });
    await this.pool.query(`notify ${JOB_CHANNEL}`);
  }

  startWorker(handle: () => void): Promise<() => Promise<unknown>> {
    return this.options.role === 'coordinator' ? Promise.resolve(this.coordinate()) : this.claim(handle);
  }

  private async claim(handle: () => void): Promise<() => Promise<unknown>> {
    const strategy = this.definition.create(this.client);
    const claimer = new Claimer(strategy, this.options);
    const ring = () => claimer.bell.ring();
    this.client.on('notification', ring);
    await this.client.query(`listen "${strategy.channel}"`);
    await strategy.beat();
    const loop = claimer.run(handle);
    return async () => {
      claimer.bell.stop();
      await loop;
      await strategy.leave();
      await this.client.query('unlisten *');
      this.client.off('notification', ring);
    };
  }

  private coordinate(): () => Promise<unknown> {
    const { batch, lease } = this.options;
    const coordinator = new Coordinator(this.client, batch);
    const loop = coordinator.run(lease, pollOf(lease));
    return () => {
      coordinator.stop();
      return loop;
    };
  }

  async isDrained(): Promise<boolean> {
    // By the index, which remembers the dead: reading the table from its beginning would slow down what is measured.
    const { rowCount } = await this.pool.query('select from job order by id limit 1');
    return rowCount === 0;
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.pool.end();
  }
}

export const createSystem: CreateSystem<StrategyOptions> = (url, options) => new StrategySystem(url, options);

import { Client, Pool, type PoolClient } from 'pg';
import { Bell } from '../bell.js';
import { type BenchJob, type CreateSystem, NOOP, PAYLOAD, type System } from './system.js';

export interface BareSqlOptions {
  readonly batch: number;
  readonly connections: number;
}

const TABLE = `
  create table job (
    id bigint generated always as identity primary key,
    name text not null,
    picked boolean not null default false,
    priority integer not null default 0,
    run_at timestamptz not null default clock_timestamp(),
    payload json);
  create index job_ready on job (name, priority desc, id) where not picked`;

const INSERT = {
  name: 'insert',
  text: `
    with inserted as (
      insert into job (name, priority, run_at, payload)
      select name, priority, clock_timestamp() + delay * interval '1 ms', payload
      from unnest($1::text[], $2::int[], $3::float8[], $4::json[]) as input(name, priority, delay, payload)
      returning id)
    select id, pg_notify('job', '') from (select array_agg(id) as id from inserted) as inserted`,
};

const CLAIM = {
  name: 'claim',
  text: `
    update job set picked = true
    where id = any(array(
      select id from job where name = $1::text and not picked and run_at <= clock_timestamp()
      order by priority desc, id limit $2::int for update skip locked))
    returning id, payload`,
};

const SETTLE = { name: 'settle', text: 'delete from job where id = any($1::bigint[])' };

/** What node-postgres does at best: batches that are claimed, handled and deleted. No retries, no heartbeats, no fence. */
class BareSqlSystem implements System {
  private readonly pool: Pool;

  constructor(
    private readonly url: string,
    private readonly options: BareSqlOptions,
  ) {
    this.pool = new Pool({ connectionString: url });
  }

  async open(): Promise<void> {
    await this.pool.query(TABLE);
  }

  enqueue(): Promise<unknown> {
    return this.enqueueMany([{}]);
  }

  enqueueMany(jobs: readonly BenchJob[]): Promise<unknown> {
    return this.pool.query(INSERT, [
      jobs.map(({ name = NOOP }) => name),
      jobs.map(({ urgent = false }) => (urgent ? 10 : 0)),
      jobs.map(({ delay = 0 }) => delay),
      jobs.map(() => JSON.stringify(PAYLOAD)),
    ]);
  }

  async startWorker(handle: () => void): Promise<() => Promise<unknown>> {
    const listener = new Client({ connectionString: this.url });
    await listener.connect();
    await listener.query('listen job');
    const clients = await Promise.all(Array.from({ length: this.options.connections }, () => this.pool.connect()));
    const bell = new Bell();
    listener.on('notification', () => bell.ring());
    const loops = clients.map((client) => this.work(client, bell, handle));
    return async () => {
      bell.stop();
      await Promise.all(loops);
      await listener.end();
    };
  }

  private async work(client: PoolClient, bell: Bell, handle: () => void): Promise<void> {
    while (!bell.stopped) {
      const { rings } = bell;
      const { rows } = await client.query<{ id: string }>(CLAIM, [NOOP, this.options.batch]);
      const handlers = rows.map(() => {
        handle();
        return Promise.resolve();
      });
      await Promise.all(handlers);
      if (rows.length > 0) await client.query(SETTLE, [rows.map(({ id }) => id)]);
      else if (bell.rings === rings) await bell.next;
    }
    client.release();
  }

  async isDrained(): Promise<boolean> {
    const { rowCount } = await this.pool.query('select from job limit 1');
    return rowCount === 0;
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

export const createSystem: CreateSystem<BareSqlOptions> = (url, options) => new BareSqlSystem(url, options);

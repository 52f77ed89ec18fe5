import type { Client } from 'pg';
import { type ClaimedJob, JOB_CHANNEL, type Strategy, type StrategyDefinition } from './strategy.js';

// A materialized CTE is read only as far as its reader wants, so that no lock is taken for a row that the limit discards;
// `where pg_try_advisory_lock(id) order by id limit n` depends on the plan. A recursive CTE, one job a step, is eight times slower.
const LOCK = {
  name: 'lock',
  text: `
    with candidate as materialized (select id from job order by id)
    select id from candidate where pg_try_advisory_lock(id) limit $1::int`,
};

// With a snapshot that is younger than the locks: who had a lock before has deleted the job, then unlocked it.
const LOOK_AGAIN = { name: 'look-again', text: 'select id, payload from job where id = any($1::bigint[])' };

const SETTLE = { name: 'settle', text: 'delete from job where id = any($1::bigint[])' };

const UNLOCK = { name: 'unlock', text: 'select count(pg_advisory_unlock(id)) from unnest($1::bigint[]) as id' };

/** A lock of the session owns a job until it is settled, and nothing is written to the job before. */
class AdvisoryStrategy implements Strategy {
  readonly channel = JOB_CHANNEL;

  constructor(private readonly client: Client) {}

  async claim(batch: number): Promise<readonly ClaimedJob[]> {
    const locked = await this.client.query<{ id: string }>({ ...LOCK, values: [batch] });
    if (locked.rows.length === 0) return [];
    const ids = locked.rows.map(({ id }) => id);
    const { rows } = await this.client.query<ClaimedJob>({ ...LOOK_AGAIN, values: [ids] });
    const present = new Set(rows.map(({ id }) => id));
    if (present.size < ids.length) await this.unlock(ids.filter((id) => !present.has(id)));
    return rows.length > 0 ? rows : this.claim(batch);
  }

  async settle(ids: readonly string[]): Promise<void> {
    await this.client.query({ ...SETTLE, values: [ids] });
    await this.unlock(ids);
  }

  beat(): Promise<unknown> {
    return Promise.resolve();
  }

  /** PostgreSQL does it when it knows that the connection is gone. */
  recover(): Promise<unknown> {
    return Promise.resolve();
  }

  leave(): Promise<unknown> {
    return Promise.resolve();
  }

  private unlock(ids: readonly string[]): Promise<unknown> {
    return this.client.query({ ...UNLOCK, values: [ids] });
  }
}

export const advisory: StrategyDefinition = { tables: '', create: (client) => new AdvisoryStrategy(client) };

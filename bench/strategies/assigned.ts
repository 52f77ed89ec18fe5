import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { type ClaimedJob, type Strategy, type StrategyDefinition } from './strategy.js';

/** Where a claimer says that it could have more. */
export const FREED_CHANNEL = 'freed';
export const channelOf = (claimerId: string) => `claimer_${claimerId}`;

const TABLES = `
  create table if not exists claimer (id uuid primary key, heartbeat_at timestamptz not null);
  create index if not exists job_owner on job (owner, id) where owner is not null`;

// Who was taken for dead registers anew.
const BEAT = {
  name: 'beat',
  text: `
    insert into claimer (id, heartbeat_at) values ($1::uuid, clock_timestamp())
    on conflict (id) do update set heartbeat_at = excluded.heartbeat_at`,
};

const FETCH = {
  name: 'fetch',
  text: 'select id, payload from job where owner = $1::uuid order by id limit $2::int',
};

const SETTLE = { name: 'settle', text: 'delete from job where id = any($1::bigint[]) and owner = $2::uuid' };

// Not with the outcomes: those who notify wait for each other's commits, and this one has nothing to flush.
const TELL = { name: 'tell', text: `select pg_notify('${FREED_CHANNEL}', '')` };

// What was assigned to it in the meantime is free again.
const LEAVE = {
  name: 'leave',
  text: `
    with gone as (delete from claimer where id = $1::uuid returning id)
    update job set owner = null from gone where owner = gone.id`,
};

/** It runs what the coordinator has assigned to it. */
class AssignedStrategy implements Strategy {
  private readonly claimerId = randomUUID();
  readonly channel = channelOf(this.claimerId);

  constructor(private readonly client: Client) {}

  async claim(batch: number): Promise<readonly ClaimedJob[]> {
    const { rows } = await this.client.query<ClaimedJob>({ ...FETCH, values: [this.claimerId, batch] });
    return rows;
  }

  async settle(ids: readonly string[]): Promise<void> {
    await this.client.query({ ...SETTLE, values: [ids, this.claimerId] });
    await this.client.query(TELL);
  }

  async beat(): Promise<void> {
    await this.client.query({ ...BEAT, values: [this.claimerId] });
    await this.client.query(TELL); // the coordinator may not know it yet
  }

  /** The coordinator does it. */
  recover(): Promise<unknown> {
    return Promise.resolve();
  }

  leave(): Promise<unknown> {
    return this.client.query({ ...LEAVE, values: [this.claimerId] });
  }
}

export const assigned: StrategyDefinition = { tables: TABLES, create: (client) => new AssignedStrategy(client) };

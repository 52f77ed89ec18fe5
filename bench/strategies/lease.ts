import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { type ClaimedJob, JOB_CHANNEL, type Strategy } from './strategy.js';

export const CLAIM_TABLE = `
  create table if not exists claim (
    id uuid primary key,
    heartbeat_at timestamptz not null,
    job_ids bigint[] not null)`;

const claimSql = (lock: string) => `
  with won as materialized (select id from job where owner is null order by id limit $1::int ${lock}),
  claimed as (
    update job set owner = $2::uuid where id = any(array(select id from won)) returning id, payload),
  claim as (
    insert into claim (id, heartbeat_at, job_ids)
    select $2::uuid, clock_timestamp(), array_agg(id) from claimed having count(*) > 0)
  select id, payload from claimed`;

// None of these waits for the row of a claim, or it could deadlock with who has it and waits for a job.
const SETTLE = {
  name: 'settle',
  text: `
    with settled as (delete from job where id = any($1::bigint[]) and owner = $2::uuid)
    delete from claim where id = any(array(select id from claim where id = $2::uuid for update skip locked))`,
};

const BEAT = {
  name: 'beat',
  text: `
    update claim set heartbeat_at = clock_timestamp()
    where id = any(array(select id from claim where id = $1::uuid for no key update skip locked))`,
};

const RECOVER = {
  name: 'recover',
  text: `
    with stale as materialized (
      select id, job_ids from claim where heartbeat_at < clock_timestamp() - $1::float8 * interval '1 ms'
      for update skip locked),
    forgotten as (delete from claim where id = any(array(select id from stale)))
    update job set owner = null
    from stale cross join unnest(stale.job_ids) as held(id)
    where job.id = held.id and job.owner = stale.id`,
};

/** The lock lives as long as the claiming statement. Then the claim is data, whose heartbeat others look at. */
export class LeaseStrategy implements Strategy {
  readonly channel = JOB_CHANNEL;
  private claimId = randomUUID();

  /** @param lock how the claiming statement locks rows */
  constructor(
    private readonly client: Client,
    private readonly lock: 'for update' | 'for update skip locked',
  ) {}

  async claim(batch: number): Promise<readonly ClaimedJob[]> {
    this.claimId = randomUUID();
    const text = claimSql(this.lock);
    const { rows } = await this.client.query<ClaimedJob>({ name: 'claim', text, values: [batch, this.claimId] });
    return rows;
  }

  settle(ids: readonly string[]): Promise<unknown> {
    return this.client.query({ ...SETTLE, values: [ids, this.claimId] });
  }

  beat(): Promise<unknown> {
    return this.client.query({ ...BEAT, values: [this.claimId] });
  }

  recover(lease: number): Promise<unknown> {
    return this.client.query({ ...RECOVER, values: [lease] });
  }
  leave(): Promise<unknown> {
    return Promise.resolve();
  }
}

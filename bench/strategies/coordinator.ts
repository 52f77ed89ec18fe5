import type { Client } from 'pg';
import { Bell } from '../bell.js';
import { channelOf, FREED_CHANNEL } from './assigned.js';
import { JOB_CHANNEL } from './strategy.js';

// Batches of each claimer: one that it runs and one that it begins next, so that it never waits while there is work.
const BATCHES_AHEAD = 2;
const LOCK_KEY = 1;

// Round robin by free capacity: `level` is how many jobs a claimer has then, and the lowest is filled first.
// `any(array(…))` in the update, or the estimate of `slot` makes the planner read the whole table.
const ASSIGN = {
  name: 'assign',
  text: `
    with load as materialized (
      select id, (select count(*) from job where owner = claimer.id) as jobs from claimer),
    slot as materialized (
      select id as owner, row_number() over (order by level, id) as place
      from load cross join lateral generate_series(jobs + 1, $1::int) as level),
    due as (
      select id, row_number() over (order by id) as place
      from (select id from job where owner is null order by id limit (select count(*) from slot)) as ready),
    pair as materialized (select due.id, slot.owner from due join slot using (place)),
    assigned as (
      update job set owner = pair.owner from pair
      where job.id = pair.id and job.id = any(array(select id from pair))
      returning job.owner)
    select owner from assigned group by owner`,
};

const RECOVER = {
  name: 'recover',
  text: `
    with dead as (
      delete from claimer where heartbeat_at < clock_timestamp() - $1::float8 * interval '1 ms' returning id)
    update job set owner = null from dead where job.owner = dead.id`,
};

const TELL = { name: 'tell', text: `select pg_notify(channel, '') from unnest($1::text[]) as channel` };

/** Assigns due jobs to claimers, as long as it holds the advisory lock that only one coordinator can have. */
export class Coordinator {
  private readonly bell = new Bell();

  constructor(
    private readonly client: Client,
    private readonly batch: number,
  ) {}

  /** Waits until no other coordinator is there, then assigns until it is stopped. */
  async run(lease: number, poll: number): Promise<void> {
    await this.client.query('select pg_advisory_lock($1::int)', [LOCK_KEY]);
    this.client.on('notification', () => this.bell.ring());
    await this.client.query(`listen ${JOB_CHANNEL}; listen ${FREED_CHANNEL}`);
    for (let lookedAt = -Infinity; !this.bell.stopped;) {
      if (performance.now() - lookedAt >= poll) {
        lookedAt = performance.now();
        await this.client.query({ ...RECOVER, values: [lease] });
      }
      await this.assign(poll);
    }
  }

  stop(): void {
    this.bell.stop();
  }

  private async assign(poll: number): Promise<void> {
    const { rings } = this.bell;
    const { rows } = await this.client.query<{ owner: string }>({ ...ASSIGN, values: [this.batch * BATCHES_AHEAD] });
    if (rows.length > 0) await this.client.query({ ...TELL, values: [rows.map(({ owner }) => channelOf(owner))] });
    else if (rings === this.bell.rings && !this.bell.stopped) await this.bell.nextWithin(poll);
  }
}

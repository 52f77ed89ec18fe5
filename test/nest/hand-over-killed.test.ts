import { eventually, startFleet, startWorker } from '../support/index.js';
import { RECORD_INSERTS, useGround } from './support/index.js';

const WORKERS = 3;
const KILLS = 12;
const JOBS = 1_500;

// The database refuses a second end of a job.
const ONE_END = `create unique index one_end on pgqueue.job_log (job_id) where status in ('successful', 'failed')`;

describe('processes that run what they enqueue, and are killed all along,', () => {
  const ground = useGround();
  const count = async (from: string) =>
    Number((await ground.database.query<{ count: string }>(`select count(*) from ${from}`))[0]?.count);

  /** Of a process that runs such a job. */
  const pidOfBusy = async () => {
    const [row] = await ground.database.query<{ pid: number }>(
      `select substring(worker from ':(\\d+)$')::int as pid from pgqueue.claim
       where exists (select from inserted where id = job_ids[1] and status = 'picked') order by heartbeat_at desc limit 1`,
    );
    return row?.pid ?? false;
  };

  it('lose none of their jobs, and end each of them once', async () => {
    await ground.database.query(RECORD_INSERTS);
    await ground.database.query(ONE_END);
    const fleet = startFleet(ground.database, WORKERS, 'nest/fixtures/own-jobs-worker.ts', { NODE_ENV: 'production' });
    for (let kills = 1; kills <= KILLS; kills++) {
      const goal = (kills * JOBS) / KILLS;
      await eventually(async () => expect(await count('inserted')).toBeGreaterThan(goal), { timeout: 30_000 });
      const busy = await eventually(pidOfBusy);
      fleet.members.find(({ pid }) => pid === busy)?.kill('SIGKILL');
    }
    await fleet.stop();
    const last = await startWorker(ground.url, { work: () => undefined }, { heartbeatTimeout: 1_500 });
    await eventually(async () => expect(await count('pgqueue.job')).toBe(0), { timeout: 30_000 });
    await last.stop();
    expect(fleet.deaths).toBeGreaterThan(KILLS / 2);
    expect(await count(`pgqueue.job_log where status = 'successful'`)).toBe(await count('inserted'));
    expect(await count(`inserted where status = 'picked'`)).toBeGreaterThan(JOBS / 10);
    expect(await count(`pgqueue.job_log where status = 'lost'`)).toBeGreaterThan(0);
    expect(await count('pgqueue.claim')).toBe(0);
  }, 120_000);
});

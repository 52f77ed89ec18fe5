import { createTestDatabase, eventually, onPool, startFleet } from '../support/index.js';
import { random } from '../support/random.js';

const JOBS = 10_000;
const WORKERS = 3;
const KILLS = 20;
const SEED = Number(process.env['SEED'] ?? 20251129);

describe(`transactional handlers whose workers are killed all along (SEED=${SEED})`, () => {
  it(`leave exactly one row for each of ${JOBS} jobs`, async () => {
    const database = await createTestDatabase();
    await database.query('create table public.effect (job_id bigint, pid int)');
    await onPool(database).add(...Array.from({ length: JOBS }, () => 'work'));
    const fleet = startFleet(database, WORKERS, 'nest/fixtures/transactional-worker.ts', { NODE_ENV: 'production' });
    const count = async (from: string) =>
      Number((await database.query<{ count: string }>(`select count(*) from ${from}`))[0]?.count);
    const dice = random(SEED);
    for (let kills = 1; kills <= KILLS; kills++) {
      const goal = (kills * JOBS) / (KILLS + 1);
      await eventually(async () => expect(await count('public.effect')).toBeGreaterThan(goal), { timeout: 60_000 });
      fleet.members[Math.floor(dice() * WORKERS)]!.kill('SIGKILL');
    }
    await eventually(async () => expect(await count('pgqueue.job')).toBe(0), { timeout: 60_000 });
    expect(fleet.deaths).toBeGreaterThan(KILLS / 2);
    await fleet.stop();
    expect(await count('public.effect')).toBe(JOBS);
    expect(await count('(select distinct job_id from public.effect) as distinct_jobs')).toBe(JOBS);
    expect(await count(`pgqueue.job_log where status = 'successful'`)).toBe(JOBS);
    expect(await count(`pgqueue.job_log where status = 'lost'`)).toBeGreaterThan(0);
    await database.drop();
  }, 180_000);
});

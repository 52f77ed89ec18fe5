import { createTestDatabase, eventually, type Fleet, onPool, startFleet, type TestDatabase } from '../support/index.js';
import { random } from '../support/random.js';

const JOBS = 3_000;
const KILLS = 15;
const MAX_ATTEMPTS = 5;
const SEED = Number(process.env['SEED'] ?? 20251129);

// Whatever the workers do: the database refuses a second end of a job.
const ONE_END = `create unique index one_end on pgqueue.job_log (job_id) where status in ('successful', 'failed')`;

describe.each([
  ['four workers', '1'],
  ['four teams of three workers', '3'],
])(`%s that are killed again and again under load (SEED=${SEED})`, (_, team) => {
  let database: TestDatabase;
  let fleet: Fleet;
  let ids: string[];
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(ONE_END);
    ids = await onPool(database).add(...Array.from({ length: JOBS }, () => ({ maxAttempts: MAX_ATTEMPTS })));
    fleet = startFleet(database, 4, 'claimer/fixtures/mortal-worker.ts', {
      CONCURRENCY: String(12 / Number(team)),
      TEAM: team,
    });
    const dice = random(SEED);
    for (let kills = 1; kills <= KILLS; kills++) {
      await eventually(async () => (await count(`status = 'successful'`)) >= (kills * JOBS) / (2 * KILLS), {
        timeout: 20_000,
      });
      fleet.members[Math.floor(dice() * 4)]!.kill('SIGKILL');
    }
    await eventually(async () => (await database.query('select from pgqueue.job')).length === 0, { timeout: 30_000 });
    await fleet.stop();
  }, 60_000);
  afterAll(() => database.drop());

  const count = async (where: string) =>
    (await database.query<{ count: number }>(`select count(*)::int from pgqueue.job_log where ${where}`))[0]!.count;

  it('end each job once, and lose none', async () => {
    expect(fleet.deaths).toBeGreaterThan(KILLS / 2);
    expect(await count(`status = 'successful'`)).toBe(ids.length);
    expect(await count(`status <> 'successful' and status <> 'lost'`)).toBe(0);
    expect(await count('status = $$lost$$')).toBeGreaterThan(0);
  });

  it('count an attempt for what was lost when it ran alone, and for nothing else', async () => {
    const insane = `
      select job_id, array_agg(status order by ended_at), array_agg(attempt order by ended_at) from pgqueue.job_log
      group by job_id
      having max(attempt) > ${MAX_ATTEMPTS} or count(*) > max(attempt) + 2
        or max(attempt) <> max(attempt) filter (where status = 'successful')
        or count(distinct attempt) <> max(attempt)`;
    expect(await database.query(insane)).toEqual([]);
  });

  it('leave no claim of a job, nor one that others would not remove', async () => {
    expect(await onPool(database).dissolve(0)).toEqual([]);
    expect(await database.query('select from pgqueue.claim')).toEqual([]);
  });
});

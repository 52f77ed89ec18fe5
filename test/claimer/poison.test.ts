import {
  createTestDatabase,
  eventually,
  type Fleet,
  onPool,
  type Queue,
  startFleet,
  type TestDatabase,
} from '../support/index.js';

const INNOCENTS = 499;
const OTHERS = 100;

describe.each([
  [10, 5],
  [100, 1],
])('a job that kills its worker, of concurrency %i, and has %i attempts', (concurrency, maxAttempts) => {
  let database: TestDatabase;
  let queue: Queue;
  let fleet: Fleet;
  let poison: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
    const jobs = Array.from({ length: INNOCENTS }, () => ({ maxAttempts }));
    const ids = await queue.add(...jobs.toSpliced(INNOCENTS / 2, 0, { entrypoint: 'poison', maxAttempts } as never));
    poison = ids[Math.floor(INNOCENTS / 2)]!;
    fleet = startFleet(database, 3, 'claimer/fixtures/mortal-worker.ts', {
      CONCURRENCY: String(concurrency),
      LONGEST_JOB: '300', // long enough that some run beside it, whenever it is claimed
    });
    await eventually(() => fleet.deaths > 0, { timeout: 20_000 });
    await queue.add(...Array.from({ length: OTHERS }, () => ({ maxAttempts, entrypoint: 'work', priority: -1 })));
    await eventually(async () => (await left()).length === 1 && (await left())[0]?.status === 'failed', {
      timeout: 40_000,
    });
    await fleet.stop();
  }, 60_000);
  afterAll(() => database.drop());

  const left = () => database.query<{ status: string }>('select id, status, attempt from pgqueue.job');
  const attempts = (of: string) =>
    database.query<{ status: string; attempt: number; count: string }>(
      `select status, attempt, count(*)::int from pgqueue.job_log where ${of} group by 1, 2 order by 2, 1`,
    );

  it('uses up its attempts and is held as failed', async () => {
    expect(await left()).toEqual([{ id: poison, status: 'failed', attempt: maxAttempts }]);
    expect(fleet.deaths).toBe(maxAttempts + 1);
  });

  it('takes no attempt from those that ran beside it', async () => {
    const [ended, ...rest] = (await attempts(`entrypoint = 'work'`)).toSorted((a, b) =>
      b.status.localeCompare(a.status),
    );
    expect(ended).toEqual({ status: 'successful', attempt: 1, count: INNOCENTS + OTHERS });
    expect(rest).toMatchObject([{ status: 'lost', attempt: 1 }]);
    expect(
      await database.query(
        `select from pgqueue.job_log where status = 'successful' group by job_id having count(*) > 1`,
      ),
    ).toEqual([]);
  });

  it('takes them with it once, and runs alone thereafter', async () => {
    expect(
      await database.query(
        `select from pgqueue.job_log where entrypoint = 'work' and status = 'lost' group by job_id having count(*) > 1`,
      ),
    ).toEqual([]);
    const spent = Array.from({ length: maxAttempts }, (_, index) => ({
      status: index + 1 === maxAttempts ? 'failed' : 'lost',
      attempt: index + 1,
    }));
    expect(
      await database.query(`select status, attempt from pgqueue.job_log where job_id = $1 order by ended_at`, [poison]),
    ).toEqual([{ status: 'lost', attempt: 1 }, ...spent]);
  });
});

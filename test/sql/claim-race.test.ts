import {
  type Claim,
  createTestDatabase,
  onPool,
  openSession,
  type Queue,
  queueOn,
  type Session,
  SUCCESSFUL,
  type TestDatabase,
} from '../support/index.js';

const CLAIMERS = 20;
const JOBS = 20_000;
const LIMIT = 50;
/** Wide enough to look past what all rivals hold. */
const WINDOW = 2 * CLAIMERS;
/** One claim in this many is rolled back. */
const ROLLED_BACK = 5;

// Whatever claims: the database refuses a second committed claim of one attempt.
const RECORD_CLAIMS = `
  create table public.claimed (job_id bigint, attempt int, claim_id uuid, primary key (job_id, attempt));
  create function public.record_claim() returns trigger language plpgsql as $$
    begin
      insert into public.claimed select id, attempt, claim_id from after_update where status = 'picked';
      return null;
    end $$;
  create trigger record_claim after update on pgqueue.job
    referencing new table as after_update for each statement execute function public.record_claim()`;

describe('20 claimers that race for 20,000 jobs', () => {
  let database: TestDatabase;
  let sessions: Session[];
  beforeEach(async () => {
    database = await createTestDatabase();
    await database.query(RECORD_CLAIMS);
    sessions = await Promise.all(Array.from({ length: CLAIMERS }, () => openSession(database)));
  });
  afterEach(async () => {
    await Promise.all(sessions.map((session) => session.end()));
    await database.drop();
  });

  it('claim each job once, although claims are rolled back', async () => {
    await onPool(database).add(...Array.from({ length: JOBS }, (_, index) => ({ priority: index % 3 })));
    const counts = await Promise.all(
      sessions.map((session, nth) => claimAll(session, nth % 2 === 0 ? ['work'] : ['work', 'none'])),
    );
    expect(sum(counts.map(({ committed }) => committed))).toBe(JOBS);
    expect(sum(counts.map(({ rolledBack }) => rolledBack))).toBeGreaterThan(0);
    expect(await count('public.claimed')).toBe(JOBS);
    expect(await count('(select distinct job_id from public.claimed where attempt = 1) as job')).toBe(JOBS);
    expect(await count(`pgqueue.job_log where status = 'successful' and attempt = 1`)).toBe(JOBS);
    expect(await count('(select distinct job_id from pgqueue.job_log) as job')).toBe(JOBS);
    expect(await count('pgqueue.job')).toBe(0);
    const strangers = `public.claimed full join pgqueue.job_log using (job_id, attempt, claim_id) where worker is null or ended_at is null`;
    expect(await count(strangers)).toBe(0);
  });

  async function count(from: string): Promise<number> {
    const [row] = await database.query<{ count: string }>(`select count(*) from ${from}`);
    return Number(row?.count);
  }
});

/** Claims and settles until nothing is queued. Only jobs of committed claims are counted. */
async function claimAll(session: Session, entrypoints: string[]): Promise<{ committed: number; rolledBack: number }> {
  const queue = queueOn(session.db);
  const counts = { committed: 0, rolledBack: 0 };
  for (let round = 1; ; round++) {
    await session.begin();
    const claim = await queue.claim(LIMIT, { window: WINDOW, entrypoints });
    if (round % ROLLED_BACK === 0) {
      counts.rolledBack += claim.ids.length;
      await session.rollback();
      continue;
    }
    await session.commit();
    if (claim.ids.length === 0 && (await isDrained(session))) return counts;
    counts.committed += await settleAll(queue, claim);
  }
}

/** A rival whose snapshot is older locks jobs that are no longer queued, for as long as its claim is open. */
async function settleAll(queue: Queue, claim: Claim): Promise<number> {
  let count = 0;
  while (count < claim.ids.length) {
    const settled = await queue.settle(claim, SUCCESSFUL);
    count += settled.filter((id) => claim.ids.includes(id)).length;
  }
  return count;
}

async function isDrained({ db }: Session): Promise<boolean> {
  return (await db.query(`select from pgqueue.job where status = 'queued' limit 1`)).length === 0;
}

const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);

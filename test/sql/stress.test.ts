import {
  type Claim,
  createTestDatabase,
  FAILED,
  onPool,
  openSession,
  type Queue,
  queueOn,
  RELEASED,
  type Session,
  SUCCESSFUL,
  type TestDatabase,
} from '../support/index.js';
import { random } from '../support/random.js';
import type { Outcome } from '../../lib/domain/outcome.js';

const SEED = Number(process.env['SEED'] ?? 20251129);
const WORKERS = 8;
const PRODUCERS = 2;
const DISSOLVERS = 2;
const JOBS = 6_000;
const BATCH = 30;
const MAX_ATTEMPTS = 3;
/** Short, so that claims are taken from workers that still settle them. */
const HEARTBEAT_TIMEOUT = 20;
const ENTRYPOINTS = ['work', 'other'];

const RETRIED: Outcome = { type: 'retried', delay: 5, error: { message: 'no', stack: null } };
const ENDS = [SUCCESSFUL, FAILED, RELEASED];
const OUTCOMES = [SUCCESSFUL, SUCCESSFUL, SUCCESSFUL, SUCCESSFUL, RETRIED, RELEASED, FAILED];

// Refused by the database itself: a second end of a job.
const ONE_END = `create unique index one_end on pgqueue.job_log (job_id) where status in ('successful', 'failed')`;
const ORPHANS = `
  select job.id from pgqueue.job left join pgqueue.claim on claim.claim_id = job.claim_id and job.id = any(claim.job_ids)
  where status = 'picked' and claim.claim_id is null`;

describe(`${WORKERS} workers, ${PRODUCERS} producers and ${DISSOLVERS} dissolvers at random (SEED=${SEED})`, () => {
  let database: TestDatabase;
  let sessions: Session[];
  const dice = random(SEED);
  const odds = (share: number) => dice() < share;
  const oneOf = <T>(all: readonly T[]) => all[Math.floor(dice() * all.length)]!;
  const shuffled = <T>(all: readonly T[]) =>
    all
      .map((each) => ({ each, at: dice() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ each }) => each);

  let added = 0;
  const counts = { claimed: 0, settled: 0, dissolved: 0, crashes: 0, rolledBack: 0 };

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(ONE_END);
    sessions = await Promise.all(Array.from({ length: WORKERS + PRODUCERS + DISSOLVERS }, () => openSession(database)));
    const roles = [
      ...Array(WORKERS).fill(work),
      ...Array(PRODUCERS).fill(produce),
      ...Array(DISSOLVERS).fill(dissolve),
    ];
    await Promise.all(sessions.map((session, index) => roles[index](session)));
    await Promise.all(sessions.map((session) => session.end()));
  }, 60_000);
  afterAll(() => database.drop());

  /** In a transaction of its own, which is sometimes rolled back. */
  async function attempt<T>(
    { db, begin, commit, rollback }: Session,
    step: (queue: Queue) => Promise<T>,
  ): Promise<T | undefined> {
    await begin();
    const result = await step(queueOn(db));
    if (!odds(0.1)) return commit().then(() => result);
    counts.rolledBack++;
    await rollback();
    return undefined;
  }

  async function produce(session: Session): Promise<void> {
    while (added < JOBS) {
      const delay = odds(0.2) ? 5 : 0;
      const jobs = Array.from({ length: BATCH }, () => ({
        entrypoint: oneOf(ENTRYPOINTS),
        priority: Math.floor(dice() * 3),
        delay,
        maxAttempts: MAX_ATTEMPTS,
      }));
      const ids = await attempt(session, (queue) => queue.add(...jobs));
      added += ids?.length ?? 0;
    }
  }

  async function dissolve(session: Session): Promise<void> {
    while (!(await isDone())) {
      await attempt(session, (queue) => queue.promote(odds(0.2) ? 0 : undefined));
      const dissolved = await attempt(session, (queue) => queue.dissolve(HEARTBEAT_TIMEOUT));
      counts.dissolved += dissolved?.length ?? 0;
      expect(await database.query(ORPHANS)).toEqual([]);
    }
  }

  async function work(session: Session): Promise<void> {
    while (!(await isDone())) {
      const alone = odds(0.3);
      const claim = await attempt(session, (queue) =>
        queue.claim(alone ? 1 : BATCH, { entrypoints: ENTRYPOINTS, alone, company: odds(0.5) }),
      );
      if (claim === undefined || claim.ids.length === 0) continue;
      counts.claimed += claim.ids.length;
      await settle(session, claim);
    }
  }

  /** In parts, in any order, beating in between, until all is settled, or it is lost, or the worker crashes. */
  async function settle(session: Session, claim: Claim): Promise<void> {
    let left = shuffled(claim.ids);
    while (left.length > 0) {
      if (odds(0.05)) {
        counts.crashes++;
        return;
      }
      const some = left.slice(0, 1 + Math.floor(dice() * left.length));
      const outcome = isLast(claim, some) ? oneOf(ENDS) : oneOf(OUTCOMES);
      const answers = await attempt(session, async (queue) => {
        const written = await queue.settle(claim, outcome, some);
        await queue.reap(claim);
        return written;
      });
      if (answers === undefined) continue;
      counts.settled += answers.filter((id) => some.includes(id)).length;
      left = shuffled(left.filter((id) => !some.includes(id) || answers.includes(`${id} is locked`)));
      const alive = await attempt(session, (queue) => queue.beat(claim));
      if (alive?.has(claim.claimId) === false) return;
    }
  }

  const isLast = ({ jobs }: Claim, ids: readonly string[]) =>
    jobs.some(({ id, attempt: number }) => ids.includes(id) && number >= MAX_ATTEMPTS);
  const isDone = async () =>
    added >= JOBS && (await database.query(`select from pgqueue.job where status <> 'failed' limit 1`)).length === 0;
  const count = async (from: string) =>
    (await database.query<{ count: number }>(`select count(*)::int from ${from}`))[0]!.count;

  it('meet in all ways', () => {
    for (const [what, times] of Object.entries(counts)) expect([what, times > 25]).toEqual([what, true]);
  });

  it('end each job once', async () => {
    expect(await count(`pgqueue.job_log where status in ('successful', 'failed')`)).toBe(added);
    const held = `pgqueue.job join pgqueue.job_log on job_id = id and job_log.status = 'failed' where job.status = 'failed'`;
    expect(await count(held)).toBe(await count('pgqueue.job'));
  });

  it('spend no more attempts than a job has', async () => {
    expect(await count(`pgqueue.job_log where attempt not between 1 and ${MAX_ATTEMPTS}`)).toBe(0);
  });

  it('leave no claim that a dissolve would not remove', async () => {
    await onPool(database).dissolve(0);
    expect(await count('pgqueue.claim')).toBe(0);
  });
});

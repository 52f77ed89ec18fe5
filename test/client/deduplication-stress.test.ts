import { DuplicateJobError, type JobInput } from 'nestjs-pgqueue';
import {
  createTestDatabase,
  FAILED,
  onPool,
  openSession,
  queueOn,
  RELEASED,
  type Session,
  startApp,
  SUCCESSFUL,
  type TestApp,
  type TestDatabase,
} from '../support/index.js';
import { random } from '../support/random.js';

const SEED = Number(process.env['SEED'] ?? 20251129);
const PRODUCERS = 8;
const WORKERS = 3;
const CALLS = 150;
const KEYS = ['a', 'b', 'c', 'd', 'é'];
const POLICIES = ['skip', 'raise', 'replace'] as const;
const RETRIED = { type: 'retried', delay: 1, error: { message: 'no', stack: null } } as const;
const OUTCOMES = [SUCCESSFUL, RETRIED, RELEASED, FAILED];
const FEW_ATTEMPTS = 50;

describe(`${PRODUCERS} producers of few keys beside ${WORKERS} workers and a dissolver (SEED=${SEED})`, () => {
  let database: TestDatabase;
  let apps: TestApp[];
  const dice = random(SEED);
  const oneOf = <T>(all: readonly T[]) => all[Math.floor(dice() * all.length)]!;
  const seen = { inserted: 0, duplicate: 0, replaced: 0, running: 0, refused: 0, dissolved: 0, inTransaction: 0 };
  const inserted = new Set<string>();
  let producing = PRODUCERS;

  // What was inserted stays known, whatever becomes of the job.
  const RECORD = `
    create table public.seen (id bigint primary key);
    create function public.record() returns trigger language plpgsql as
      'begin insert into public.seen values (new.id); return new; end';
    create trigger record after insert on pgqueue.job for each row execute function public.record()`;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(RECORD);
    apps = await Promise.all(Array.from({ length: PRODUCERS }, () => startApp(database.url, {}, { worker: false })));
    const sessions = await Promise.all(Array.from({ length: WORKERS + 1 }, () => openSession(database)));
    const [dissolver, ...workers] = sessions;
    await Promise.all([...apps.map(produce), ...workers.map(work), dissolve(dissolver!)]);
    await Promise.all([...sessions.map((session) => session.end()), ...apps.map((app) => app.close())]);
  }, 60_000);
  afterAll(() => database.drop());

  const newJob = (): JobInput => ({
    entrypoint: 'work',
    payload: dice(),
    ...(dice() < 0.9 ? { dedupeKey: oneOf(KEYS), onConflict: oneOf(POLICIES) } : {}),
  });

  async function produce({ queue, dataSource }: TestApp): Promise<void> {
    for (let call = 0; call < CALLS; call++) {
      const jobs = Array.from({ length: 1 + Math.floor(dice() * 4) }, newJob);
      if (dice() < 0.7) {
        await enqueue(() => queue.enqueueMany(jobs));
        continue;
      }
      await dataSource.transaction(async (manager) => {
        await enqueue(() => queue.enqueueMany(jobs, { manager }));
        await manager.query('select 1'); // fails in a transaction that is broken
        seen.inTransaction++;
      });
    }
    producing--;
  }

  async function enqueue(call: () => ReturnType<TestApp['queue']['enqueueMany']>): Promise<void> {
    try {
      for (const { id, duplicate, replaced } of await call()) {
        if (!duplicate) inserted.add(id);
        seen[!duplicate ? 'inserted' : replaced === undefined ? 'duplicate' : replaced ? 'replaced' : 'running']++;
      }
    } catch (error) {
      if (!(error instanceof DuplicateJobError)) throw error;
      seen.refused++;
    }
  }

  async function work({ db }: Session): Promise<void> {
    while (producing > 0) {
      const queue = queueOn(db);
      await queue.promote(0);
      const claim = await queue.claim(1 + Math.floor(dice() * 4), { alone: dice() < 0.3, maxAttempts: FEW_ATTEMPTS });
      if (dice() < 0.2) continue; // it has died
      await queue.settle(claim, oneOf(OUTCOMES));
      await queue.reap(claim);
    }
  }

  async function dissolve({ db }: Session): Promise<void> {
    while (producing > 0) seen.dissolved += (await queueOn(db).dissolve(5)).length;
  }

  it('meet in all ways, and no call ends in an error of the database', () => {
    for (const [what, times] of Object.entries(seen)) expect([what, times > 0]).toEqual([what, true]);
  });

  it('leave no key with two live jobs', async () => {
    const twice = await database.query(`
      select dedupe_key from pgqueue.job where status in ('queued', 'picked') and dedupe_key is not null
      group by entrypoint, dedupe_key having count(*) > 1`);
    expect(twice).toEqual([]);
  });

  it('have inserted each job that they were told of, and no other', async () => {
    const rows = await database.query<{ id: string }>('select id from public.seen');
    expect(new Set(rows.map(({ id }) => id))).toEqual(inserted);
    expect(await onPool(database).reap()).toEqual([]);
  });
});

import type { Outcome } from '../../lib/domain/outcome.js';
import { poolDatabase } from '../../lib/sql/database.js';
import { settleJobs } from '../../lib/sql/settle.js';
import type { EntrypointStatistics } from '../../lib/domain/statistics.js';
import { foldStatistics, readStatistics } from '../../lib/sql/statistics.js';
import {
  createTestDatabase,
  explain,
  FAILED,
  names,
  onPool,
  openSession,
  type Queue,
  queueOn,
  RELEASED,
  type Session,
  SUCCESSFUL,
  takeAway,
  type TestDatabase,
} from '../support/index.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const RETRIED: Outcome = { type: 'retried', delay: 0, error: { message: 'no', stack: null } };
const NONE = { successful: 0, retried: 0, failed: 0, exception: 0, canceled: 0, lost: 0 };

describe('statistics', () => {
  let database: TestDatabase;
  let queue: Queue;
  const db = () => poolDatabase(() => database.pool);
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  /** Of an hour before and after, in one entry for each entrypoint unless there is a step. */
  const read = ({ from = -HOUR, to = HOUR, step = 2 * HOUR + MINUTE } = {}): Promise<EntrypointStatistics[]> =>
    readStatistics(db(), names, { from: new Date(Date.now() + from), to: new Date(Date.now() + to), step });
  const counts = async () =>
    (await read()).map(({ entrypoint, successful, retried, failed, exception, canceled, lost }) => ({
      entrypoint,
      ...{ successful, retried, failed, exception, canceled, lost },
    }));
  const fold = () => foldStatistics(db(), names);
  const rowsOf = async (table: string) => (await database.query(`select from pgqueue.${table}`)).length;

  async function settleIn(durations: readonly number[], outcome: Outcome = SUCCESSFUL, entrypoint = 'work') {
    await queue.add(...durations.map(() => entrypoint));
    const { claimId, ids } = await queue.claim(durations.length, { entrypoints: [entrypoint] });
    const settlements = ids.map((id, index) => ({ id, claimId, outcome, duration: durations[index]! }));
    await settleJobs(db(), names, settlements, { worker: 'test', notify: false });
  }

  it.each(['before', 'after'])('count each outcome of each entrypoint, %s they are folded', async (when) => {
    await settleIn([1, 2, 3]);
    await settleIn([1], FAILED, 'other');
    await settleIn([1, 1], RETRIED, 'third');
    await queue.add('dropped');
    await queue.settle(await queue.claim(1, { entrypoints: ['dropped'], onFailure: 'drop' }), FAILED);
    await queue.add('stopped');
    const claim = await queue.claim(1, { entrypoints: ['stopped'] });
    await database.query(`update pgqueue.job set cancel_requested = true where id = $1`, [claim.ids[0]]);
    await queue.settle(claim, RETRIED);
    if (when === 'after') await fold();
    expect(await rowsOf('statistic_delta')).toBe(when === 'after' ? 0 : 5);
    expect(await counts()).toEqual([
      { entrypoint: 'dropped', ...NONE, exception: 1 },
      { entrypoint: 'other', ...NONE, failed: 1 },
      { entrypoint: 'stopped', ...NONE, canceled: 1 },
      { entrypoint: 'third', ...NONE, retried: 2 },
      { entrypoint: 'work', ...NONE, successful: 3 },
    ]);
  });

  it('count what was lost with its worker, which has no duration', async () => {
    await queue.add('work', 'work');
    await queue.claim(2);
    await takeAway(database);
    for (const step of [() => Promise.resolve(false), fold]) {
      await step();
      expect(await read()).toMatchObject([{ entrypoint: 'work', lost: 2, successful: 0, duration: undefined }]);
    }
  });

  it('count neither what is given back nor what is refused', async () => {
    await queue.add('work');
    const claim = await queue.claim(1);
    await queue.settle(claim, RELEASED);
    await queue.settle(claim, SUCCESSFUL);
    expect(await rowsOf('statistic_delta')).toBe(0);
  });

  it('tell durations within a tenth, from the shortest to the longest, however they were folded', async () => {
    const lengths = Array.from({ length: 1_000 }, (_, index) => 0.05 * 1.025 ** index); // to 40 minutes and beyond
    await settleIn(lengths.slice(0, 400));
    await fold();
    await settleIn(lengths.slice(400, 700));
    await fold();
    await settleIn(lengths.slice(700));
    const [{ duration }] = (await read()) as [EntrypointStatistics];
    const exact = { p50: lengths[499]!, p95: lengths[949]!, p99: lengths[989]!, max: lengths[999]! };
    for (const [name, value] of Object.entries(exact)) {
      expect(Math.abs(duration![name as 'p50'] / value - 1)).toBeLessThan(0.1);
    }
  });

  it.each([0, -1, NaN, Infinity, 1e300])('survive a duration of %d', async (duration) => {
    await settleIn([duration]);
    await fold();
    expect((await read())[0]).toMatchObject({ successful: 1, duration: { p50: expect.any(Number) } });
  });

  it('hold one row for each minute and entrypoint once folded, whatever came late', async () => {
    await settleIn([1, 100]);
    await fold();
    await settleIn([1, 1, 10_000]);
    await database.query(`update pgqueue.statistic_delta set minute = (select min(minute) from pgqueue.statistic)`);
    await fold();
    const rows = await database.query('select entrypoint, successful, bucket_counts from pgqueue.statistic');
    expect(rows).toEqual([{ entrypoint: 'work', successful: 5, bucket_counts: [3, 1, 1] }]);
  });

  it('are read by steps of time', async () => {
    const at = (minutes: number) => Math.floor(Date.now() / MINUTE) * MINUTE - minutes * MINUTE;
    for (const minutes of [0, 3, 4, 9, 90]) {
      await settleIn([minutes + 1]);
      await database.query(
        `update pgqueue.statistic_delta set minute = to_timestamp($1) where minute > now() - interval '2 minutes'`,
        [at(minutes + 10) / 1000],
      );
      if (minutes !== 3) await fold();
    }
    const range = { from: new Date(at(19) + 1), to: new Date(at(9)) };
    const steps = await readStatistics(db(), names, { ...range, step: 5 * MINUTE });
    expect(steps.map((step) => [step.at.getTime(), step.successful])).toEqual([
      [at(19), 1],
      [at(14), 3],
    ]);
    const whole = await readStatistics(db(), names, { ...range, step: HOUR });
    expect(whole).toMatchObject([{ successful: 4, at: new Date(at(19)) }]);
  });

  it('lose nothing that commits while others are folded', async () => {
    const late = await openSession(database);
    await queue.add('work', 'work');
    const [first, second] = [await queue.claim(1), await queue.claim(1)];
    await late.begin();
    await queueOn(late.db).settle(first, SUCCESSFUL);
    await queue.settle(second, SUCCESSFUL);
    await fold();
    expect(await counts()).toMatchObject([{ successful: 1 }]);
    await late.commit();
    expect(await counts()).toMatchObject([{ successful: 2 }]);
    await fold();
    expect(await counts()).toMatchObject([{ successful: 2 }]);
    await late.end();
  });

  it('are folded beside another fold, without what that has taken, and once when it is rolled back', async () => {
    const other = await openSession(database);
    await settleIn([1], SUCCESSFUL, 'a');
    await other.begin();
    await foldStatistics(other.db, names);
    await settleIn([1], SUCCESSFUL, 'b');
    await fold();
    expect(await rowsOf('statistic')).toBe(1);
    await other.rollback();
    await fold();
    expect(await counts()).toMatchObject([
      { entrypoint: 'a', successful: 1 },
      { entrypoint: 'b', successful: 1 },
    ]);
    await other.end();
  });

  it('are read from their index', async () => {
    await database.query(`
      insert into pgqueue.statistic
      select date_bin('1 minute', now(), 'epoch') - n * interval '1 minute', 'work', 1, 0, 0, 0, 0, 0, '{10,11}', '{1,1}'
      from generate_series(1, 43200) n`);
    await database.query('analyze pgqueue.statistic');
    const range = { from: new Date(Date.now() - HOUR), to: new Date(), step: HOUR };
    const { buffers } = await explain(database, (on) => readStatistics(on, names, range));
    expect(buffers).toBeLessThan(50);
  });
});

describe('statistics of several workers, with rollbacks and beside two that fold all the time,', () => {
  const WORKERS = 4;
  const ROUNDS = 60;
  const ENTRYPOINTS = ['a', 'b', 'c'];
  let database: TestDatabase;
  let sessions: Session[];
  beforeAll(async () => {
    database = await createTestDatabase();
    sessions = await Promise.all(Array.from({ length: WORKERS + 3 }, () => openSession(database)));
  });
  afterAll(async () => {
    await Promise.all(sessions.map((session) => session.end()));
    await database.drop();
  });

  it('sum up to the log, at any time', async () => {
    const [first, second, reader, ...workers] = sessions as [Session, Session, Session, ...Session[]];
    let left = WORKERS;
    const inTransaction = async (
      { db, begin, commit, rollback }: Session,
      work: (queue: Queue) => Promise<unknown>,
    ) => {
      await begin();
      await work(queueOn(db));
      await (Math.random() < 0.25 ? rollback() : commit());
    };
    const work = async (session: Session) => {
      const own = queueOn(session.db);
      for (let round = 0; round < ROUNDS; round++) {
        await own.add(...ENTRYPOINTS.flatMap((name) => [name, name]));
        const claim = await own.claim(6, { entrypoints: ENTRYPOINTS });
        const outcome = [SUCCESSFUL, FAILED, RETRIED, RELEASED][round % 4]!;
        await inTransaction(session, (queue) => queue.settle(claim, outcome));
        await inTransaction(session, (queue) => queue.settle(claim, SUCCESSFUL));
        if (round % 10 === 0) await inTransaction(session, (queue) => queue.dissolve(0));
      }
      left--;
    };
    const fold = async (session: Session) => {
      while (left > 0) await inTransaction(session, () => foldStatistics(session.db, names));
    };
    const compare = async () => {
      const { rows, counted } = await both(reader);
      expect(counted).toEqual(rows);
      return rows;
    };
    const watch = async () => {
      while (left > 0) await compare();
    };
    await Promise.all([fold(first), fold(second), watch(), ...workers.map(work)]);
    expect((await compare()).length).toBeGreaterThan(ENTRYPOINTS.length * 2);
    await foldStatistics(reader.db, names);
    await compare();
    expect(await database.query('select from pgqueue.statistic_delta')).toEqual([]);
  }, 60_000);

  /** The log's counts and the statistics, in one snapshot. */
  async function both({ db }: Session) {
    await db.query('begin isolation level repeatable read');
    const log = await db.query(
      'select entrypoint, status, count(*) as count from pgqueue.job_log group by 1, 2 order by 1, 2',
    );
    const range = { from: new Date(Date.now() - HOUR), to: new Date(Date.now() + HOUR), step: 24 * HOUR };
    const statistics = await readStatistics(db, names, range);
    await db.query('commit');
    const counted = statistics.flatMap(({ entrypoint, at: _, duration: __, ...outcomes }) =>
      Object.entries(outcomes)
        .filter(([, count]) => count > 0)
        .map(([status, count]) => ({ entrypoint, status, count: String(count) }))
        .toSorted((a, b) => (a.status < b.status ? -1 : 1)),
    );
    return { rows: log.map((row) => ({ ...row })), counted };
  }
});

import { poolDatabase } from '../../lib/sql/database.js';
import { type Outlook, readOutlook } from '../../lib/sql/promote.js';
import { createTestDatabase, makeStale, names, onPool, openSession, type TestDatabase } from '../support/index.js';

const NOTHING: Outlook = {
  next: undefined,
  overdue: false,
  ready: false,
  alone: false,
  stale: false,
  listening: false,
};
const REQUEST = { suspicion: 3_600_000, heartbeatTimeout: 30_000, ready: true };

describe('the outlook of a worker', () => {
  let database: TestDatabase;
  beforeEach(async () => (database = await createTestDatabase()));
  afterEach(() => database.drop());

  const look = (db = poolDatabase(() => database.pool)) => readOutlook(db, names, ['work'], REQUEST);

  it('is of nothing where nothing waits, so that the worker rests until it polls', async () => {
    expect(await look()).toEqual(NOTHING);
    await onPool(database).add('other');
    expect(await look()).toEqual(NOTHING);
  });

  it('says nothing of jobs that can be claimed when that is not asked', async () => {
    await onPool(database).add({});
    const request = { ...REQUEST, ready: false };
    expect(
      await readOutlook(
        poolDatabase(() => database.pool),
        names,
        ['work'],
        request,
      ),
    ).toEqual(NOTHING);
  });

  it('has the time until the first of those that wait, and that it is overdue', async () => {
    await onPool(database).add({ delay: 60_000 }, { delay: 3_600_000 });
    const { next, ...rest } = await look();
    expect(next).toBeGreaterThan(50_000);
    expect(next).toBeLessThanOrEqual(60_000);
    expect({ next: undefined, ...rest }).toEqual(NOTHING);
    await database.query(`update pgqueue.job set run_at = clock_timestamp() - interval '1 s'`);
    expect(await look()).toEqual({ ...NOTHING, next: 0, overdue: true });
  });

  it.each(['ready', 'alone'] as const)('has jobs that are %s, unless their entrypoint is paused', async (wait) => {
    await onPool(database).add({});
    await database.query(`update pgqueue.job set wait = $1`, [wait]);
    expect(await look()).toEqual({ ...NOTHING, [wait]: true });
    await database.query(`insert into pgqueue.entrypoint values ('work', now())`);
    expect(await look()).toEqual(NOTHING);
  });

  it('has jobs that have waited to run alone for too long', async () => {
    await onPool(database).add('other');
    await database.query(`update pgqueue.job set wait = 'alone', run_at = now() - interval '2 hours'`);
    expect(await look()).toEqual({ ...NOTHING, overdue: true });
  });

  it('has claims that are no longer beaten', async () => {
    await onPool(database).add({});
    await onPool(database).claim(1);
    expect(await look()).toEqual(NOTHING);
    await makeStale(database);
    expect(await look()).toEqual({ ...NOTHING, stale: true });
  });

  it('tells whether its connection listens', async () => {
    const session = await openSession(database);
    await session.db.query('listen "pgqueue:other"');
    expect(await look(session.db)).toEqual(NOTHING);
    await session.db.query(`listen "${names.channel}"`);
    expect(await look(session.db)).toEqual({ ...NOTHING, listening: true });
    await session.end();
  });
});

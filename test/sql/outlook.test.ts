import { poolDatabase } from '../../lib/sql/database.js';
import { readOutlook } from '../../lib/sql/promote.js';
import { createTestDatabase, names, onPool, type TestDatabase } from '../support/index.js';

describe('the outlook of a worker', () => {
  let database: TestDatabase;
  beforeEach(async () => (database = await createTestDatabase()));
  afterEach(() => database.drop());

  const look = () =>
    readOutlook(
      poolDatabase(() => database.pool),
      names,
      ['work'],
    );

  it('has no next job where none waits for its time, so that the worker rests until it polls', async () => {
    await onPool(database).add({});
    expect(await look()).toEqual({ next: undefined, alone: false });
  });

  it('has the time until the first of those that wait, and 0 when it is due', async () => {
    await onPool(database).add({ delay: 60_000 }, { delay: 3_600_000 });
    const { next } = await look();
    expect(next).toBeGreaterThan(50_000);
    expect(next).toBeLessThanOrEqual(60_000);
    await database.query(`update pgqueue.job set run_at = clock_timestamp() - interval '1 s'`);
    expect(await look()).toEqual({ next: 0, alone: false });
  });

  it('has jobs that are to run alone, unless their entrypoint is paused', async () => {
    await onPool(database).add({});
    await database.query(`update pgqueue.job set wait = 'alone'`);
    expect(await look()).toMatchObject({ alone: true });
    await database.query(`insert into pgqueue.entrypoint values ('work', now())`);
    expect(await look()).toMatchObject({ alone: false });
  });
});

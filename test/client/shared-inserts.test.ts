import { createTestDatabase, startApp, type TestApp, type TestDatabase } from '../support/index.js';

describe('calls of enqueue that come at the same time', () => {
  let database: TestDatabase;
  let app: TestApp;
  beforeEach(async () => {
    database = await createTestDatabase();
    app = await startApp(database.url, {}, { worker: false });
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  const transactions = async () => {
    const rows = await database.query('select distinct xmin from pgqueue.job');
    return rows.length;
  };

  it('share transactions, and each has its own ids, in its own order', async () => {
    const calls = await Promise.all(
      Array.from({ length: 100 }, async (_, call) => {
        const jobs = Array.from({ length: (call % 3) + 1 }, (__, index) => ({
          entrypoint: 'work',
          payload: [call, index],
        }));
        const inserted = await app.queue.enqueueMany(jobs);
        return jobs.map(({ payload }, index) => ({ id: inserted[index]?.id, payload }));
      }),
    );
    const rows = await database.query('select id, payload from pgqueue.job');
    const sorted = (all: { id?: unknown }[]) => all.toSorted((one, other) => Number(one.id) - Number(other.id));
    expect(sorted(calls.flat())).toEqual(sorted(rows));
    expect(await transactions()).toBeLessThan(10);
  });

  it('fail alone, when the database refuses one of them', async () => {
    await database.query(`alter table pgqueue.job add constraint no_evil check (payload::text <> '"evil"')`);
    const results = await Promise.allSettled(
      ['good', 'evil', 'fine'].flatMap((payload) => [
        app.queue.enqueue('work', payload),
        app.queue.enqueue('work', 'more'),
      ]),
    );
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await database.query('select from pgqueue.job')).toHaveLength(5);
  });

  it('are stored as soon as they resolve, each', async () => {
    await Promise.all(
      Array.from({ length: 50 }, async (_, call) => {
        const { id } = await app.queue.enqueue('work', call);
        expect(await database.query('select payload from pgqueue.job where id = $1', [id])).toEqual([
          { payload: call },
        ]);
      }),
    );
  });

  it('with a manager go with its transaction, whatever others do', async () => {
    const inside = app.dataSource.transaction(async (manager) => {
      await Promise.all([app.queue.enqueue('work', 'inside', { manager }), app.queue.enqueue('work', 'outside')]);
      throw new Error('undone');
    });
    await Promise.all([expect(inside).rejects.toThrow('undone'), app.queue.enqueue('work', 'beside')]);
    const rows = await database.query('select payload from pgqueue.job order by payload::text');
    expect(rows).toEqual([{ payload: 'beside' }, { payload: 'outside' }]);
  });
});

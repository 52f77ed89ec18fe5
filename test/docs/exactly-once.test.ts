import { PgQueueProducer, PgQueueWorker } from 'nestjs-pgqueue';
import { Ledger, LedgerModule } from './exactly-once/ledger.js';
import { programs, useGuide } from './support.js';

describe('the program of docs/exactly-once.md', () => {
  const ground = useGuide(LedgerModule);
  beforeEach(() =>
    ground.database.query(`
      create table account (name text, balance int check (balance >= 0));
      insert into account values ('ann', 10), ('bob', 0)`),
  );
  const run = async (entrypoint: string, payload: unknown) => {
    await ground.app.get(PgQueueProducer).enqueue(entrypoint, payload);
    return (await ground.app.get(PgQueueWorker).drain()).map(({ status }) => status);
  };
  const balances = async () =>
    (await ground.database.query<{ balance: number }>('select balance from account order by name')).map(
      (row) => row.balance,
    );

  it('is the one that is tested here', () => {
    const { shown, tested } = programs('exactly-once', 'exactly-once/ledger.ts');
    expect(shown).toBe(tested);
  });

  it('moves money and ends the job together', async () => {
    expect(await run('transfer', { from: 'ann', to: 'bob', amount: 4 })).toEqual(['successful']);
    expect(await balances()).toEqual([6, 4]);
  });

  it('moves nothing when it fails', async () => {
    expect(await run('transfer', { from: 'bob', to: 'ann', amount: 4 })).toEqual(['retried']);
    expect(await balances()).toEqual([10, 0]);
  });

  it('completes a job in a transaction of its own', async () => {
    expect(await run('deposit', { to: 'bob', amount: 4 })).toEqual(['successful']);
    expect(await balances()).toEqual([10, 8]);
    expect(await ground.database.query('select result from pgqueue.job_log')).toEqual([{ result: { rate: 2 } }]);
  });

  it('completes no job when that transaction is undone', async () => {
    jest.spyOn(ground.app.get(Ledger), 'rateOfToday').mockResolvedValueOnce(-1);
    expect(await run('deposit', { to: 'bob', amount: 4 })).toEqual(['retried']);
    expect(await balances()).toEqual([10, 0]);
  });
});

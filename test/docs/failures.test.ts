import { PgQueueProducer, PgQueueWorker } from 'nestjs-pgqueue';
import { Bank, PaymentsModule } from './failures/payments.js';
import { programs, useGuide } from './support.js';

describe('the program of docs/failures.md', () => {
  const charge = jest.fn<Promise<{ status: number; retryAfter?: number }>, []>();
  const ground = useGuide(PaymentsModule, (builder) => builder.overrideProvider(Bank).useValue({ charge }));

  it('is the one that is tested here', () => {
    const { shown, tested } = programs('failures', 'failures/payments.ts');
    expect(shown).toBe(tested);
  });

  it.each([
    [{ status: 200 }, 'successful', undefined],
    [{ status: 429, retryAfter: 7 }, 'retried', { status: 'queued', attempt: 0, wait: 7 }],
    [{ status: 404 }, 'failed', { status: 'failed', attempt: 1, wait: 0 }],
    [{ status: 500 }, 'retried', { status: 'queued', attempt: 1, wait: 5 }],
  ])('on an answer of %j: %s', async (answer, status, left) => {
    charge.mockResolvedValue(answer);
    await ground.app.get(PgQueueProducer).enqueue('charge', { orderId: 7 });
    expect(await ground.app.get(PgQueueWorker).drain()).toMatchObject([{ attempt: 1, status }]);
    const [row] = await ground.database.query<{ wait: number }>(`
      select status, attempt, extract(epoch from run_at - clock_timestamp())::float8 as wait from pgqueue.job`);
    if (left === undefined) return expect(row).toBeUndefined();
    expect(row).toMatchObject({ status: left.status, attempt: left.attempt });
    expect(Math.max(row?.wait ?? NaN, 0) / Math.max(left.wait, 1)).toBeCloseTo(Math.min(left.wait, 1), 0);
  });
});

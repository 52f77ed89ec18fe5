import { onPool } from '../../support/index.js';
import { random as randomNumbers } from '../../support/random.js';
import { useAdminGround } from './support.js';

describe('operators among workers and producers', () => {
  const ground = useAdminGround();
  const JOBS = 600;
  const OPERATORS = 4;
  const ROUNDS = 40;

  it('end each job once, without a deadlock or a claim left behind', async () => {
    const admin = await ground.admin();
    const random = randomNumbers(7);
    const pick = (n: number) => Math.floor(random() * n);
    const work = () => {
      if (random() < 0.5) throw new Error('no');
    };
    const policy = { defaults: { retry: { maxAttempts: 2, delay: 0 } } };
    const workers = [await ground.start({ work }, policy), await ground.start({ work }, policy)];
    const ids: string[] = [];
    const produce = async () => {
      for (let count = 0; count < JOBS; count += 20) {
        const jobs = Array.from({ length: 20 }, () => (random() < 0.5 ? {} : { dedupeKey: String(pick(20)) }));
        ids.push(...(await onPool(ground.database).add(...jobs)));
      }
    };
    const operate = async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const some = Array.from({ length: 30 }, () => String(1 + pick(JOBS)));
        await admin[(['cancel', 'remove', 'requeue'] as const)[pick(3)]!](some);
      }
    };
    await Promise.all([produce(), produce(), ...Array.from({ length: OPERATORS }, operate)]);
    await Promise.all(workers.map((worker) => worker.stop()));
    await admin.clear({});
    expect(workers.flatMap(({ events }) => events).filter(({ type }) => type === 'error')).toEqual([]);
    expect(await ground.statuses()).toEqual({});
    expect(await ground.database.query('select from pgqueue.claim')).toEqual([]);
    const ends = (await ground.ends()).filter(([, status]) => !['retried', 'failed'].includes(status));
    expect(ends.map(([id]) => id).toSorted()).toEqual([...new Set(ids)].toSorted());
  });
});

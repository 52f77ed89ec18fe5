import { createTestDatabase, eventually, onPool, startFleet } from '../support/index.js';

const INNOCENTS = 40;

/** A suspect is trusted after 500 ms, and one that was lost twice after 2 s. */
const ENV = { CONCURRENCY: '100', HEARTBEAT_TIMEOUT: '3000', LONGEST_JOB: '2500', KILLS_AFTER: '900' };

describe('a job that kills its worker when it is already trusted', () => {
  it.each([1, 2])(
    'uses up its %i attempts, and takes none from those that ran beside it',
    async (maxAttempts) => {
      const database = await createTestDatabase();
      const innocents = Array.from({ length: INNOCENTS }, () => ({ maxAttempts }));
      await onPool(database).add(
        ...innocents.toSpliced(INNOCENTS / 4, 0, { entrypoint: 'poison', maxAttempts } as never),
      );
      const fleet = startFleet(database, 2, 'claimer/fixtures/mortal-worker.ts', ENV);
      const left = () => database.query<{ status: string }>('select entrypoint, status, attempt from pgqueue.job');
      await eventually(async () => expect(await left()).toMatchObject([{ status: 'failed' }]), { timeout: 60_000 });
      await fleet.stop();
      expect(await left()).toEqual([{ entrypoint: 'poison', status: 'failed', attempt: maxAttempts }]);
      const attempts = await database.query(
        `select attempt, count(*)::int from pgqueue.job_log where status = 'successful' group by attempt`,
      );
      expect(attempts).toEqual([{ attempt: 1, count: INNOCENTS }]);
      await database.drop();
    },
    90_000,
  );
});

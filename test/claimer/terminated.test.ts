import { spawnWorker, useWorkerGround } from '../support/index.js';

describe('a worker whose connection is terminated', () => {
  const ground = useWorkerGround();

  it('goes on, and no exception is left uncaught, whatever the connection was doing', async () => {
    const worker = spawnWorker('claimer/fixtures/terminated-worker.ts', { DATABASE_URL: ground.database.url });
    await worker.waitForLine(/without the one that listened/);
    await worker.waitForLine(/without those that were idle/);
    await worker.waitForLine(/without one that was between two queries/);
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expect(await ground.log()).toHaveLength(3);
  });
});

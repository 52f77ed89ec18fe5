import { setTimeout as delay } from 'node:timers/promises';
import type { Job } from '../../lib/domain/job.js';
import { sqlState } from '../../lib/sql/transient.js';
import {
  createOwnServer,
  deferred,
  eventually,
  type OwnServer,
  terminateAll,
  type TestWorker,
  useWorkerGround,
} from '../support/index.js';

const POLL_NEVER = { pollInterval: 60_000 };

describe('a server that goes away under a worker', () => {
  let server: OwnServer;
  const ground = useWorkerGround(async () => (server = await createOwnServer()));

  /** A worker that runs ten jobs, each until `end` resolves. */
  async function startTen() {
    const end = deferred();
    const runs: string[] = [];
    const work = ({ id }: Job) => (runs.push(id), end.promise);
    const ids = await ground.queue.add(...Array.from({ length: 10 }, () => ({})));
    const worker = await ground.start({ work }, { concurrency: 10 });
    await worker.event('claimed', ({ jobs }) => jobs.length === 10);
    return { worker, end, ids, runs: () => runs.toSorted((one, other) => Number(one) - Number(other)) };
  }

  const once = Array.from({ length: 10 }, () => ({ attempt: 1, status: 'successful' }));
  const isEmpty = async () => {
    expect(await ground.database.query('select from pgqueue.job')).toEqual([]);
    await eventually(async () => expect(await ground.database.query('select from pgqueue.claim')).toEqual([]));
  };

  it('and comes back, loses none of ten claimed jobs and completes none twice', async () => {
    const { worker, end, ids, runs } = await startTen();
    await server.stopServer();
    await server.startServer();
    end.resolve();
    await eventually(async () => expect(await ground.log()).toEqual(once), { timeout: 15_000 });
    expect(runs()).toEqual(ids);
    await isEmpty();
    // It goes on as before, woken by notifications.
    await eventually(() => expect(count(worker, 'listening')).toBeGreaterThan(1), { timeout: 10_000 });
    const [id] = await ground.queue.add({});
    await worker.event('settled', (event) => event.ids.includes(id!));
  });

  it('for 3 s while ten handlers succeed, gets their outcomes later: no handler runs again', async () => {
    const { worker, end, ids, runs } = await startTen();
    await server.stopServer();
    end.resolve();
    await worker.event('error', ({ task, transient }) => task === 'settle' && transient);
    await delay(3_000);
    expect(count(worker, 'settled')).toBe(0);
    await server.startServer();
    await eventually(async () => expect(await ground.log()).toEqual(once), { timeout: 15_000 });
    expect(runs()).toEqual(ids);
    await isEmpty();
    expect(worker.events.filter(({ type }) => type === 'refused' || type === 'claim-lost')).toEqual([]);
  });

  it('and is read only for 5 s, loses no job, completes none twice, and says so', async () => {
    const { worker, end, ids, runs } = await startTen();
    const role = 'alter role postgres';
    await ground.database.query(`${role} set default_transaction_read_only = on`);
    await terminateAll(ground.database); // connections have the default of their beginning
    end.resolve();
    const event = await worker.event('error', ({ task, error }) => task === 'settle' && sqlState(error) === '25006');
    expect(event.transient).toBe(true);
    await delay(5_000);
    expect(count(worker, 'settled')).toBe(0);
    await ground.database.query(`${role} reset default_transaction_read_only`);
    await eventually(async () => expect(await ground.log()).toEqual(once), { timeout: 15_000 });
    expect(runs()).toEqual(ids);
    await isEmpty();
  });

  it('is told of with transient errors of each part, and delays no shutdown', async () => {
    const { worker, end } = await startTen();
    await server.stopServer();
    end.resolve();
    for (const part of ['settle', 'listen'] as const) {
      expect(await worker.event('error', ({ task }) => task === part)).toMatchObject({ transient: true });
    }
    const startedAt = performance.now();
    await worker.stop();
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    await server.startServer();
  });

  it('before the worker has started, lets it start all the same, and work once it is there', async () => {
    const [id] = await ground.queue.add({});
    const worker = await ground.start(undefined, { ...POLL_NEVER, beforeStart: () => server.stopServer() });
    for (const part of ['claim', 'listen'] as const) {
      expect(await worker.event('error', ({ task }) => task === part)).toMatchObject({ transient: true });
    }
    await server.startServer();
    expect((await worker.event('settled')).ids).toEqual([id]);
    await worker.event('listening');
  });
});

const count = (worker: TestWorker, type: string) => worker.events.filter((event) => event.type === type).length;

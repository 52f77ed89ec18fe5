import { ClaimLost } from '../../lib/domain/errors.js';
import {
  createTestDatabase,
  deferred,
  onPool,
  type Queue,
  spawnWorker,
  startWorker,
  takeAway,
  type TestDatabase,
} from '../support/index.js';

// So that what still runs is soon trusted.
const FAST = { pollInterval: 100, heartbeatTimeout: 3_000 };

describe('a job that is taken from a worker which still runs it', () => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  const ends = () => database.query(`select claim_id, attempt, status from pgqueue.job_log where status <> 'lost'`);

  it.each([
    ['resolves', () => undefined],
    ['throws', () => Promise.reject(new Error('too late'))],
  ])('ends once, by the claim that came after, when its first handler %s', async (_, endOfFirst) => {
    const [id] = await queue.add({});
    const [first, second] = [deferred(), deferred()];
    const runs = [first.promise.then(endOfFirst), second.promise];
    const worker = await startWorker(database.url, { work: () => runs.shift() }, FAST);
    await worker.event('claimed');
    await takeAway(database);
    const claims = () => worker.events.flatMap((event) => (event.type === 'claimed' ? event.jobs : []));
    await worker.event('claimed', () => claims().length === 2);
    const { claimId } = claims()[1]!;

    first.resolve();
    expect(await worker.event('refused')).toMatchObject({ ids: [id] });
    expect(await database.query('select status, claim_id, attempt from pgqueue.job')).toEqual([
      { status: 'picked', claim_id: claimId, attempt: 2 },
    ]);
    second.resolve();
    await worker.event('settled');
    await worker.stop();
    expect(await ends()).toEqual([{ claim_id: claimId, attempt: 2, status: 'successful' }]);
    expect(await database.query('select from pgqueue.job')).toEqual([]);
  });

  it('is told by its signal, and goes on at another worker, whose claim stays as it is', async () => {
    await queue.add({});
    const signal = deferred<AbortSignal>();
    const ended = deferred();
    const work = (_: unknown, control: { signal: AbortSignal }) => {
      signal.resolve(control.signal);
      return new Promise<void>((resolve) => control.signal.addEventListener('abort', () => resolve()));
    };
    // Without a free slot it can't win the job again itself.
    const one = await startWorker(database.url, { work }, { concurrency: 1, heartbeatTimeout: 2_000, label: 'one' });
    await one.event('claimed');
    const other = await startWorker(database.url, { work: () => ended.promise }, { label: 'other' });
    await other.event('listening');
    await takeAway(database);
    const [job] = (await other.event('claimed')).jobs;
    const { claimId } = await one.event('claim-lost');
    expect((await signal.promise).reason).toEqual(new ClaimLost(claimId));
    expect((await signal.promise).reason).toMatchObject({ code: 'PGQUEUE_CLAIM_LOST' });
    await one.event('refused');
    expect(await database.query('select claim_id, worker from pgqueue.claim')).toEqual([
      { claim_id: job?.claimId, worker: 'other' },
    ]);
    ended.resolve();
    await Promise.all([one.stop(), other.stop()]);
    expect(await ends()).toEqual([{ claim_id: job?.claimId, attempt: 2, status: 'successful' }]);
  });

  it('goes to another worker while an event loop is blocked, whose result is refused when it wakes', async () => {
    const [id] = await queue.add({});
    const blocked = spawnWorker('claimer/fixtures/blocked-worker.ts', { DATABASE_URL: database.url });
    await blocked.waitForLine(/^blocking$/);
    // It may have sent a beat just before.
    const soon = { label: 'other', pollInterval: 100, heartbeatTimeout: 2_000 };
    const other = await startWorker(database.url, { work: () => undefined }, soon);
    await other.event('settled', ({ ids }) => ids.includes(id!));
    await database.query('create table public.wake_up ()');
    await blocked.waitForLine(/^aborted PGQUEUE_CLAIM_LOST$/);
    await blocked.waitForLine(new RegExp(`^refused ${id}$`));
    expect(await blocked.exited).toEqual({ code: 0, signal: null });
    await other.stop();
    expect(await database.query('select attempt, status, worker from pgqueue.job_log order by ended_at')).toEqual([
      { attempt: 1, status: 'lost', worker: 'blocked' },
      { attempt: 2, status: 'successful', worker: 'other' },
    ]);
  });
});

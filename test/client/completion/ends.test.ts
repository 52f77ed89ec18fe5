import { RetryJob } from '../../../lib/domain/errors.js';
import type { JobCompletion } from '../../../lib/client/completion.js';
import { deferred, FAILED, makeStale, RELEASED, SUCCESSFUL } from '../../support/index.js';
import { useCompletionGround } from './ground.js';

const ONCE = { defaults: { retry: { maxAttempts: 1 } } };
const SOON = { timeout: 10_000 };

describe('waitFor', () => {
  const { ground, complete, noted } = useCompletionGround();
  const deep = () => JSON.parse(`${'['.repeat(2_000)}${']'.repeat(2_000)}`) as unknown;
  const fail = () => {
    throw new TypeError('out of paper');
  };

  const ends: [string, () => unknown, object, JobCompletion][] = [
    ['a result', () => ({ pages: [1, 2] }), {}, { status: 'successful', result: { pages: [1, 2] } }],
    ['null', () => null, {}, { status: 'successful', result: null }],
    ['a result of any characters', () => 'é\0\ud800"', {}, { status: 'successful', result: 'é\0\ud800"' }],
    ['undefined', () => undefined, {}, { status: 'successful' }],
    [
      'a result of 5 MB',
      () => 'x'.repeat(5_000_000),
      {},
      { status: 'successful', error: expect.stringContaining('The result is not kept: more than 1048576 bytes') },
    ],
    [
      'a result that nests too deep',
      deep,
      {},
      { status: 'successful', error: expect.stringContaining('The result is not kept: more than 1000 levels') },
    ],
    [
      'a result that is not JSON',
      () => 5n,
      {},
      { status: 'successful', error: expect.stringMatching(/The result is not kept.*BigInt/) },
    ],
    ['a failure, held', fail, ONCE, { status: 'failed', error: 'TypeError: out of paper' }],
    [
      'a failure, dropped',
      fail,
      { defaults: { ...ONCE.defaults, onFailure: 'drop' } },
      { status: 'exception', error: 'TypeError: out of paper' },
    ],
  ];

  it.each(ends)(
    'resolves with the end of a handler that ends with %s, once and afterwards',
    async (...[, ...given]) => {
      const [run, options, end] = given;
      const { completion, listening } = await complete();
      const go = deferred();
      const worker = await ground.start({ work: () => go.promise.then(run) }, options);
      const [id = ''] = await ground.queue.add({});
      await worker.event('claimed');
      const waits = [completion.waitFor(id, SOON), completion.waitFor(id, SOON)];
      await listening();
      go.resolve();
      expect(await Promise.all(waits)).toStrictEqual([end, end]);
      expect(await completion.waitFor(id, SOON)).toStrictEqual(end);
    },
  );

  it('gives each waiter a result of its own', async () => {
    const { completion } = await complete();
    await ground.start({ work: () => ({ list: [] }) });
    const [id = ''] = await ground.queue.add({});
    const [one, other] = await Promise.all([completion.waitFor(id, SOON), completion.waitFor(id, SOON)]);
    expect(one.result).toEqual(other.result);
    expect(one.result).not.toBe(other.result);
  });

  it('does not take a retry for an end', async () => {
    const { completion } = await complete();
    const throwFirst = ({ attempt }: { attempt: number }) => (attempt === 1 ? fail() : { attempt });
    await ground.start({ work: throwFirst }, { defaults: { retry: { delay: 100 } } });
    const [id = ''] = await ground.queue.add({});
    expect(await completion.waitFor(id, SOON)).toEqual({ status: 'successful', result: { attempt: 2 } });
  });

  it('does not take a RetryJob for an end', async () => {
    const { completion } = await complete();
    let runs = 0;
    const work = () => {
      if (++runs === 1) throw new RetryJob({ delay: 1 });
      return runs;
    };
    await ground.start({ work });
    const [id = ''] = await ground.queue.add({});
    expect(await completion.waitFor(id, SOON)).toEqual({ status: 'successful', result: 2 });
  });

  it('goes on while a job is released by a worker that stops, and is run by another', async () => {
    const { completion } = await complete();
    const worker = await ground.start({ work: () => new Promise(() => undefined) }, { shutdownTimeout: 0 });
    const [id = ''] = await ground.queue.add({});
    await worker.event('claimed');
    const wait = completion.waitFor(id, SOON);
    await worker.stop();
    await ground.start({ work: () => 'elsewhere' });
    expect(await wait).toEqual({ status: 'successful', result: 'elsewhere' });
  });

  it('goes on while a worker dies, until the last attempt is spent', async () => {
    const { completion, listening } = await complete();
    const [id = ''] = await ground.queue.add({});
    const wait = completion.waitFor(id, SOON);
    await Promise.all([listening(), noted(id)]);
    for (const alone of [false, true]) {
      await ground.queue.claim(1, { maxAttempts: 1, alone, company: false });
      if (!alone) await ground.database.query(`update pgqueue.claim set company = true`);
      await makeStale(ground.database);
      await ground.queue.dissolve();
    }
    expect(await wait).toEqual({ status: 'failed', error: expect.stringContaining('stopped beating') });
  });

  it('resolves when a running job is canceled', async () => {
    const { completion } = await complete();
    const work = (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    const worker = await ground.start({ work }, { heartbeatTimeout: 1_000 });
    const [id = ''] = await ground.queue.add({});
    await worker.event('claimed');
    const wait = completion.waitFor(id, SOON);
    await ground.database.query('update pgqueue.job set cancel_requested = true');
    expect(await wait).toEqual({ status: 'canceled', error: expect.stringContaining(`Job ${id} was canceled`) });
  });

  it.each(['canceled', 'deleted'] as const)('resolves when a queued job is %s, before or after', async (status) => {
    const { completion } = await complete();
    const [id = ''] = await ground.queue.add({});
    const wait = completion.waitFor(id, SOON);
    await ground.database.query(
      `with gone as (delete from pgqueue.job where id = $1 returning *)
       insert into pgqueue.job_log (job_id, entrypoint, attempt, status) select id, entrypoint, attempt, $2 from gone`,
      [id, status],
    );
    expect(await wait).toEqual({ status });
    expect(await completion.waitFor(id, SOON)).toEqual({ status });
  });

  it('resolves with the latest end of a job that was held, requeued, and run again', async () => {
    const { completion } = await complete();
    const [id = ''] = await ground.queue.add({});
    await ground.queue.settle(await ground.queue.claim(1), FAILED);
    expect(await completion.waitFor(id, SOON)).toEqual({ status: 'failed', error: 'Error: no' });
    await ground.database.query(`update pgqueue.job set status = 'queued', attempt = 0`);
    const wait = completion.waitFor(id, SOON);
    await noted(id);
    await ground.queue.settle(await ground.queue.claim(1), RELEASED);
    await ground.queue.settle(await ground.queue.claim(1), { type: 'successful', result: { json: '"now"' } });
    expect(await wait).toEqual({ status: 'successful', result: 'now' });
    expect(await completion.waitFor(id, SOON)).toEqual({ status: 'successful', result: 'now' });
  });

  it('knows a held job though its log is gone', async () => {
    const { completion } = await complete();
    const [id = ''] = await ground.queue.add({});
    await ground.queue.settle(await ground.queue.claim(1), FAILED);
    await ground.database.query('delete from pgqueue.job_log');
    expect(await completion.waitFor(id, SOON)).toEqual({ status: 'failed' });
  });

  it('waits for a job with the largest id that there is', async () => {
    const { completion } = await complete();
    await ground.database.query(`insert into pgqueue.job (id, entrypoint) values (9223372036854775807, 'work')`);
    const wait = completion.waitFor('9223372036854775807', SOON);
    await noted('9223372036854775807');
    await ground.queue.settle(await ground.queue.claim(1), SUCCESSFUL);
    expect(await wait).toEqual({ status: 'successful' });
  });
});

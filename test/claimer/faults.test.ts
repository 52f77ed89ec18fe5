import { sqlState } from '../../lib/sql/transient.js';
import { deferred, eventually, type TestWorker, useWorkerGround } from '../support/index.js';

const PASSING = ['40001', '40P01', '55P03', '57014', '57P01', '57P02', '57P03', '53300'];
const LASTING = ['42601', 'P0001'];

describe('a fault', () => {
  const ground = useWorkerGround();

  /** Doing this to a row of the table fails the next `times` times. */
  async function inject(what: 'insert' | 'update', table: string, code: string, times: number): Promise<void> {
    const name = `fail_${what}_of_${table}`;
    await ground.database.query(`
      create sequence public.${name};
      create function public.${name}() returns trigger language plpgsql as $$
        begin
          if nextval('public.${name}') <= ${times} then
            raise exception 'injected' using errcode = '${code}';
          end if;
          return null;
        end $$;
      create trigger ${name} after ${what} on pgqueue.${table} for each row execute function public.${name}()`);
  }

  const errorsOf = (worker: TestWorker, part: string) =>
    worker.events.flatMap((event) => (event.type === 'error' && event.task === part ? [event] : []));

  it.each([...PASSING.map((code) => [code, true] as const), ...LASTING.map((code) => [code, false] as const)])(
    '%s (it passes by itself: %s) of a claim, a beat and an outcome is told of, tried again, and costs no attempt',
    async (code, transient) => {
      await inject('insert', 'claim', code, 1);
      await inject('update', 'claim', code, 2);
      await inject('insert', 'job_log', code, 2);
      const end = deferred();
      await ground.queue.add({});
      // With a result: of successes without one 55P03 says that they are to be settled in another way.
      const worker = await ground.start({ work: () => end.promise.then(() => 'done') }, { heartbeatTimeout: 400 });
      await worker.event('claimed');
      const claimedAt = await lastBeat();
      await eventually(async () => expect(await lastBeat()).not.toEqual(claimedAt));
      end.resolve();
      await worker.event('settled');
      for (const [part, times] of [
        ['claim', 1],
        ['beat', 2],
        ['settle', 2],
      ] as const) {
        const told = errorsOf(worker, part).map((event) => ({ ...event, error: sqlState(event.error) }));
        expect(told).toEqual(
          Array.from({ length: times }, () => ({ type: 'error', task: part, error: code, transient })),
        );
      }
      expect(await ground.log()).toEqual([{ attempt: 1, status: 'successful' }]);
    },
  );

  const lastBeat = async () => (await ground.database.query('select heartbeat_at from pgqueue.claim'))[0];

  it('of the socket is told of, and what it broke is tried again', async () => {
    const proxy = await ground.proxy();
    const end = deferred();
    await ground.queue.add({});
    const worker = await ground.start({ work: () => end.promise }, { url: proxy.url });
    await Promise.all([worker.event('claimed'), worker.event('listening')]);
    proxy.breakDown();
    end.resolve();
    for (const part of ['settle', 'listen'] as const) {
      expect(await worker.event('error', ({ task }) => task === part)).toMatchObject({ transient: true });
    }
    proxy.restore();
    await worker.event('settled');
    expect(await ground.log()).toEqual([{ attempt: 1, status: 'successful' }]);
  });

  it('that stays is told of again and again, and the worker goes on when it is put right', async () => {
    await ground.database.query('alter schema pgqueue rename to away');
    const worker = await ground.start(undefined, { pollInterval: 100 });
    await worker.event('error', () => errorsOf(worker, 'claim').length === 3);
    expect(new Set(errorsOf(worker, 'claim').map(({ transient }) => transient))).toEqual(new Set([false]));
    await ground.database.query('alter schema away rename to pgqueue');
    await ground.queue.add({});
    await worker.event('settled');
  });
});

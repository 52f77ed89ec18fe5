import { Socket } from 'node:net';
import { deferred, eventually, type TcpProxy, useWorkerGround } from '../support/index.js';

const LONGEST = 4_500;
// The pool of TypeORM waits for an answer to its goodbye.
const OF_THE_APPLICATION = 1;
const BUSY = `
  select from pg_stat_activity
  where datname = current_database() and application_name <> 'test' and state <> 'idle'`;

describe('a worker whose database is out of reach', () => {
  const ground = useWorkerGround();
  const socketsTo = ({ url }: TcpProxy) =>
    openSockets().filter(({ remotePort }) => String(remotePort) === new URL(url).port);

  const troubles: [string, (proxy: TcpProxy) => void][] = [
    ['refuses connections', (proxy) => proxy.breakDown()],
    ['answers nothing any more', (proxy) => (proxy.stall(), proxy.silence())],
    ['accepts connections and answers none', (proxy) => (proxy.breakDown(), proxy.stall())],
  ];

  it.each(troubles)(
    'and %s stops within seconds, leaves nothing open, and its job is recovered',
    async (_, trouble) => {
      const proxy = await ground.proxy();
      const end = deferred();
      const [id] = await ground.queue.add({});
      const worker = await ground.start({ work: () => end.promise }, { url: proxy.url, pollInterval: 100 });
      await Promise.all([worker.event('claimed'), worker.event('listening')]);
      trouble(proxy);
      end.resolve();
      await worker.event('ended');
      const startedAt = performance.now();
      await worker.stop();
      expect(performance.now() - startedAt).toBeLessThan(LONGEST);
      await eventually(() => expect(socketsTo(proxy).length).toBeLessThanOrEqual(OF_THE_APPLICATION));
      await ground.database.query(`update pgqueue.claim set heartbeat_at = '-infinity'`);
      expect(await ground.queue.dissolve()).toMatchObject([{ id }]);
    },
  );

  it('and answers nothing, not even a goodbye, leaves nothing open when it had nothing to do', async () => {
    const proxy = await ground.proxy();
    await ground.queue.add({});
    const worker = await ground.start(undefined, { url: proxy.url, pollInterval: 60_000 });
    await Promise.all([worker.event('settled'), worker.event('listening')]);
    await eventually(async () => expect(await ground.database.query(BUSY)).toEqual([]));
    proxy.silence();
    await worker.stop();
    await eventually(() => expect(socketsTo(proxy).length).toBeLessThanOrEqual(OF_THE_APPLICATION));
  });

  it('and answers nothing on the connections that are open keeps its claim through new ones', async () => {
    const proxy = await ground.proxy();
    const end = deferred();
    await ground.queue.add({});
    const worker = await ground.start({ work: () => end.promise }, { url: proxy.url, heartbeatTimeout: 8_000 });
    await ground.start({ other: () => undefined }, { heartbeatTimeout: 8_000, label: 'rival' });
    await Promise.all([worker.event('claimed'), worker.event('listening')]);
    proxy.silence();
    const before = await ground.database.query('select heartbeat_at from pgqueue.claim');
    await eventually(
      async () => expect(await ground.database.query('select heartbeat_at from pgqueue.claim')).not.toEqual(before),
      { timeout: 15_000 },
    );
    proxy.breakDown();
    proxy.restore();
    end.resolve();
    await worker.event('settled');
    expect(await ground.log()).toEqual([{ attempt: 1, status: 'successful' }]);
  });
});

function openSockets(): Socket[] {
  const { _getActiveHandles: getHandles } = process as unknown as { _getActiveHandles(): unknown[] };
  return getHandles.call(process).filter((handle) => handle instanceof Socket);
}

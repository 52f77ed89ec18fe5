import { getEventListeners } from 'node:events';
import { Client } from 'pg';
import type { Listen, ListenRequest } from '../../lib/sql/listen.js';
import {
  countListeners,
  deferred,
  eventually,
  terminateListeners,
  type TestWorker,
  useWorkerGround,
} from '../support/index.js';

const POLL_NEVER = { pollInterval: 60_000 };
const NOTICED_WITHIN = 10_000;

describe('a worker that listens', () => {
  const ground = useWorkerGround();
  const work = () => undefined;
  const count = (worker: TestWorker, type: string) => worker.events.filter((event) => event.type === type).length;

  it('leaves no connection, timer or listener behind when its backend is terminated twenty times', async () => {
    const { listen, open } = watch();
    const worker = await ground.start({ work }, { ...POLL_NEVER, listen });
    await worker.event('listening');
    const before = open();
    for (let kill = 1; kill <= 20; kill++) {
      expect(await terminateListeners(ground.database)).toBe(1);
      await worker.event('listening', () => count(worker, 'listening') > kill);
    }
    expect(count(worker, 'error')).toBe(20);
    const after = open();
    expect(after.listeners).toBe(before.listeners);
    // The pools have some that come and go.
    expect(after.timers - before.timers).toBeLessThan(10);
    expect(after.sockets - before.sockets).toBeLessThan(10);
    expect(await countListeners(ground.database)).toBe(1);
    const startedAt = performance.now();
    const [id] = await ground.queue.add({});
    await worker.event('settled', ({ ids }) => ids.includes(id!));
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  it('starts what was enqueued while it was cut off within 2 s, without a poll', async () => {
    const worker = await ground.start({ work }, POLL_NEVER);
    await worker.event('listening');
    await terminateListeners(ground.database);
    const startedAt = performance.now();
    await ground.addSilently();
    await worker.event('settled');
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  it('finds out within 10 s that its connection is half open, and catches up', async () => {
    const proxy = await ground.proxy();
    const worker = await ground.start({ work }, { ...POLL_NEVER, listenUrl: proxy.url, listen: addBeforeSecond() });
    await worker.event('listening');
    proxy.silence();
    const startedAt = performance.now();
    await worker.event('settled');
    expect(performance.now() - startedAt).toBeLessThan(NOTICED_WITHIN);
    expect(await worker.event('error')).toMatchObject({ task: 'listen', transient: true });
  });

  it('stops within 2 s while its connection is half open, and closes it', async () => {
    const proxy = await ground.proxy();
    const { listen, open } = watch();
    const { timers, sockets } = open();
    const worker = await ground.start({ work }, { ...POLL_NEVER, listen, listenUrl: proxy.url });
    await worker.event('listening');
    proxy.silence();
    const startedAt = performance.now();
    await worker.stop();
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    await proxy.close();
    await eventually(() => expect(open()).toMatchObject({ timers, sockets }));
  });

  it('finds out within 10 s that it was told to UNLISTEN, listens again, and catches up', async () => {
    const listening = whoListens();
    const worker = await ground.start({ work }, { ...POLL_NEVER, listen: addBeforeSecond() });
    await worker.event('listening');
    await (await listening).query('unlisten *');
    const startedAt = performance.now();
    await worker.event('settled');
    expect(performance.now() - startedAt).toBeLessThan(NOTICED_WITHIN);
    expect(count(worker, 'error')).toBe(0);
  });

  /** Adds a job, silently, when LISTEN takes effect for the second time. */
  function addBeforeSecond() {
    let times = 0;
    return (inner: Listen) => (request: ListenRequest) => {
      const onListening = () => {
        if (++times === 2) void ground.addSilently().then(request.onListening);
        else request.onListening();
      };
      return inner({ ...request, onListening });
    };
  }
});

/** Counts what a worker that listens has open. */
function watch() {
  let signal: AbortSignal | undefined;
  const listen = (inner: Listen) => (request: ListenRequest) =>
    inner({ ...request, signal: (signal = request.signal) });
  const resources = (kind: string) => process.getActiveResourcesInfo().filter((each) => each === kind).length;
  const open = () => ({
    timers: resources('Timeout'),
    sockets: resources('TCPSocketWrap'),
    listeners: signal === undefined ? 0 : getEventListeners(signal, 'abort').length,
  });
  return { listen, open };
}

/** Resolves with the connection on which somebody listens next. */
async function whoListens(): Promise<Client> {
  const { promise, resolve } = deferred<Client>();

  const original = Client.prototype.query;
  const spy = jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...args: unknown[]) {
    if (String(args[0]).startsWith('listen ')) resolve(this);
    return original.apply(this, args as never);
  });
  const client = await promise;
  spy.mockRestore();
  return client;
}

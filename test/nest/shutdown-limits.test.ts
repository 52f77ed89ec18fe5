import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, type Type } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Entrypoint, PgQueueModule, PgQueueProducer, PgQueueWorker } from 'nestjs-pgqueue';
import { SqlProducer } from '../../lib/client/sql-producer.js';
import { createOwnServer, deferred, makeStale, startProxy } from '../support/index.js';
import { useGround, workerStops } from './support/index.js';

// What a database that doesn't answer may add to shutdownTimeout.
const MARGIN = 3_000;

describe('app.close() takes no longer than shutdownTimeout and a moment', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  const timed = async (work: Promise<unknown>) => {
    const began = performance.now();
    await work;
    return performance.now() - began;
  };

  /** A provider whose handler is told to be over by `end`, and maybe never. */
  const witness = (end: Promise<unknown>, queue?: string) => {
    const [begun, destroyed] = [deferred(), deferred()];
    @Injectable()
    class Witness {
      @Entrypoint('work', { queue })
      async work() {
        begun.resolve();
        await end;
      }
      onModuleDestroy() {
        destroyed.resolve();
      }
    }
    return { Witness: Witness as Type, begun: begun.promise, destroyed: destroyed.promise };
  };
  const never = new Promise(() => undefined);

  it('when the handlers of two queues ignore their signals: both within the time of one', async () => {
    const worker = { shutdownTimeout: 1_000 };
    const [one, two] = [witness(never), witness(never, 'reports')];
    const reports = PgQueueModule.forRoot({ name: 'reports', schema: 'reports', worker });
    const { app, queue } = await ground.start(
      { imports: [reports], providers: [one.Witness, two.Witness] },
      { worker },
    );
    await queue.enqueue('work');
    await ground.database.query(`insert into reports.job (entrypoint) values ('work')`);
    await Promise.all([one.begun, two.begun]);
    const took = await timed(app.close());
    expect(took).toBeGreaterThan(990);
    expect(took).toBeLessThan(1_990);
    for (const schema of ['pgqueue', 'reports']) {
      expect(await ground.database.query(`select status, attempt, claim_id from ${schema}.job`)).toEqual([
        { status: 'queued', attempt: 0, claim_id: null },
      ]);
    }
  });

  it('when the server is down; what ran then runs again once it is back', async () => {
    const server = await createOwnServer();
    const stops = workerStops();
    const { Witness, begun } = witness(stops);
    const options = { worker: { shutdownTimeout: 500 } };
    const imports = () => [ground.typeOrm({ url: server.url }), PgQueueModule.forRoot(options)];
    const app = await ground.boot({ imports: imports(), providers: [Witness] });
    await app.get(PgQueueProducer).enqueue('work');
    await begun;
    await server.stopServer();
    expect(await timed(app.close())).toBeLessThan(500 + MARGIN);

    await server.startServer();
    await makeStale(server);
    const successor = await ground.boot({ imports: imports(), providers: [witness(Promise.resolve()).Witness] });
    await successor.get(PgQueueWorker).drain();
    await successor.close();
    const log = await server.query('select status from pgqueue.job_log order by ended_at');
    await server.drop();
    expect(log).toEqual([{ status: 'lost' }, { status: 'successful' }]);
  });

  it.each(['silent', 'stalled'])('when the network to the database is %s and a handler never ends', async (how) => {
    const proxy = await startProxy(ground.url);
    const { Witness, begun, destroyed } = witness(never);
    const imports = [ground.typeOrm({ url: proxy.url }), PgQueueModule.forRoot({ worker: { shutdownTimeout: 500 } })];
    const app = await ground.boot({ imports, providers: [Witness] });
    await app.get(PgQueueProducer).enqueue('work');
    await begun;
    if (how === 'stalled') proxy.breakDown();
    proxy.silence();
    proxy.stall();
    const closed = app.close();
    expect(await timed(destroyed)).toBeLessThan(500 + MARGIN);
    await proxy.close(); // TypeORM waits for its connections to end
    await closed;
  });

  it('when a DataSource of its own has a connection that does not end', async () => {
    const proxy = await startProxy(ground.url);
    const queue = PgQueueModule.forRoot({ dataSource: { type: 'postgres', url: proxy.url } });
    const app = await ground.boot({ imports: [queue] });
    jest.spyOn(SqlProducer.prototype, 'close').mockResolvedValue(); // it would wait for this as well
    proxy.silence();
    const enqueued = app.get(PgQueueProducer).enqueue('work');
    enqueued.catch(() => undefined);
    await nextTurn(); // by then it has its connection
    expect(await timed(app.close())).toBeLessThan(MARGIN);
    await proxy.close();
    await expect(enqueued).rejects.toThrow();
  });

  it('also when a provider destroys the DataSource in onModuleDestroy, and all outcomes are stored before', async () => {
    const stops = workerStops();
    const { Witness, begun } = witness(stops);
    @Injectable()
    class Closes {
      constructor(readonly dataSource: DataSource) {}
      onModuleDestroy() {
        return this.dataSource.destroy();
      }
    }
    const { queue, close } = await ground.start({ providers: [Closes, Witness] });
    await queue.enqueue('work');
    await begun;
    expect(await timed(close())).toBeLessThan(MARGIN);
    expect(await ground.log()).toEqual([{ entrypoint: 'work', attempt: 1, status: 'successful' }]);
  });
});

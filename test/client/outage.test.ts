import { DataSource } from 'typeorm';
import { SqlProducer } from '../../lib/client/sql-producer.js';
import { primaryPool } from '../../lib/sql/connections.js';
import { readCommittedDatabase } from '../../lib/sql/database.js';
import { names, terminateAll, useWorkerGround } from '../support/index.js';

describe('enqueue while the database is out of reach', () => {
  const ground = useWorkerGround();

  it('rejects at once with the error of the connection, and works again when it is back', async () => {
    const proxy = await ground.proxy();
    const { queue } = await ground.producer({ url: proxy.url });
    await queue.enqueue('work');
    proxy.breakDown();
    const startedAt = performance.now();
    await expect(queue.enqueue('work')).rejects.toThrow();
    await expect(queue.enqueue('work')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    proxy.restore();
    await queue.enqueue('work');
    expect(await ground.database.query('select from pgqueue.job')).toHaveLength(2);
  });

  it('finds another connection after those of the pool were terminated while they were idle', async () => {
    const { queue } = await ground.producer();
    await queue.enqueue('work');
    await terminateAll(ground.database);
    await queue.enqueue('work');
  });

  it('takes as long as connectTimeoutMS of the DataSource, when nothing answers', async () => {
    const proxy = await ground.proxy();
    const dataSource = new DataSource({ type: 'postgres', url: proxy.url, connectTimeoutMS: 300 });
    await dataSource.initialize();
    const db = readCommittedDatabase(() => primaryPool(dataSource));
    const queue = new SqlProducer({
      queue: 'default',
      dataSource,
      db,
      names,
      notify: true,
      transaction: undefined,
      handOver: () => undefined,
    });
    proxy.breakDown();
    await expect(queue.enqueue('work')).rejects.toThrow(); // the connection that was open
    proxy.stall();
    const startedAt = performance.now();
    await expect(queue.enqueue('work')).rejects.toThrow(/timeout/);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await dataSource.destroy();
  });
});

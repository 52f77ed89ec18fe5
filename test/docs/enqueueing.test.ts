import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { Transactional as ClsTransactional } from '@nestjs-cls/transactional';
import { Injectable, type INestApplicationContext, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { PgQueueProducer } from 'nestjs-pgqueue';
import { initializeTransactionalContext, StorageDriver, Transactional } from 'typeorm-transactional';
import { useGround } from '../nest/support/index.js';
import { onPool, openSession, silentLogger } from '../support/index.js';
import { AppModule as ClsModule } from './enqueueing/nestjs-cls.module.js';
import { SearchIndex } from './enqueueing/search-index.js';

const PROGRAMS = path.resolve(__dirname, 'enqueueing');
const guide = (name: string) => readFileSync(path.resolve(__dirname, `../../docs/${name}.md`), 'utf8');
const sqlOf = (name: string) => [...guide(name).matchAll(/^```sql\n(.*?)^```$/gms)].map(([, sql]) => sql!);

describe('the guides to enqueueing', () => {
  const ground = useGround();
  beforeEach(() => (process.env['DATABASE_URL'] = ground.url));
  afterEach(() => delete process.env['DATABASE_URL']);

  it('show the programs that are tested here', () => {
    const guides = guide('deduplication') + guide('transactions');
    const shown = [...guides.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)];
    expect(shown.map(([, file]) => file).sort()).toEqual(readdirSync(PROGRAMS).sort());
    for (const [, file = '', text] of shown) expect(text).toBe(readFileSync(path.join(PROGRAMS, file), 'utf8'));
  });

  it('index a product once, however often it is saved', async () => {
    const { app } = await ground.start({ providers: [SearchIndex] }, { worker: { autoStart: false } });
    const { id } = await app.get(SearchIndex).productSaved(1);
    expect(await app.get(SearchIndex).productSaved(1)).toEqual({ id, duplicate: true });
    expect(await app.get(SearchIndex).productSaved(2)).toMatchObject({ duplicate: false });
  });

  it('queue again the failed jobs whose key is free, one for each key', async () => {
    const [requeue] = sqlOf('deduplication');
    const add = (dedupeKey: string | null) => onPool(ground.database).add({ entrypoint: 'index_product', dedupeKey });
    for (const key of ['a', 'a', 'b', null, null]) {
      await add(key);
      await ground.database.query(`update pgqueue.job set status = 'failed', attempt = 5`);
    }
    await add('b');
    await ground.database.query(requeue!);
    const rows = await ground.database.query('select id, status from pgqueue.job order by id');
    expect(rows.map(({ status }) => status)).toEqual(['failed', 'queued', 'failed', 'queued', 'queued', 'queued']);
  });

  it('enqueue from SQL and from a trigger, with the rights that they name', async () => {
    const [examples, trigger, grants] = sqlOf('sql');
    const { database } = ground;
    await database.query('create table orders (id int, paid boolean); insert into orders values (1, false), (2, true)');
    await database.query('create role shop');
    try {
      await database.query(`${grants}; grant select, update on orders to shop; grant update on pgqueue.job to shop`);
      await database.query(trigger!);
      const session = await openSession(database);
      await session.db.query('set role shop');
      await session.db.query('update orders set paid = true');
      await session.db.query('update orders set paid = true');
      await session.end();
      expect(await database.query('select payload, dedupe_key from pgqueue.job')).toEqual([
        { payload: { orderId: 1 }, dedupe_key: 'order 1' },
      ]);
      await database.query(`set role shop; ${examples}; reset role`);
      const { ids } = await onPool(database).claim(10, { entrypoints: ['send_receipt', 'index_product'] });
      expect(ids).toHaveLength(3); // and two that are delayed
    } finally {
      await database.query('drop owned by shop; drop role shop');
    }
  });

  const start = async (module: Type, provider: Type): Promise<INestApplicationContext> => {
    const builder = Test.createTestingModule({ imports: [module], providers: [provider] }).setLogger(silentLogger);
    return ground.keep(await (await builder.compile()).init());
  };
  const undo = () => {
    throw new Error('undo');
  };

  it('join the transactions of nestjs-cls', async () => {
    @Injectable()
    class Orders {
      constructor(private readonly queue: PgQueueProducer) {}
      @ClsTransactional()
      async place(end: () => void) {
        await this.queue.enqueue('inside');
        end();
      }
    }
    const app = await start(ClsModule, Orders);
    await expect(app.get(Orders).place(undo)).rejects.toThrow('undo');
    await app.get(Orders).place(() => undefined);
    expect(await ground.queued()).toEqual(['inside']);
  });

  it('join the transactions of typeorm-transactional', async () => {
    initializeTransactionalContext({ storageDriver: StorageDriver.ASYNC_LOCAL_STORAGE });
    @Injectable()
    class Orders {
      constructor(private readonly queue: PgQueueProducer) {}
      @Transactional()
      async place(end: () => void) {
        await this.queue.enqueue('inside');
        end();
      }
    }
    const { AppModule } = await import('./enqueueing/typeorm-transactional.module.js');
    const app = await start(AppModule, Orders);
    await expect(app.get(Orders).place(undo)).rejects.toThrow('undo');
    await app.get(Orders).place(() => undefined);
    expect(await ground.queued()).toEqual(['inside']);
  });
});

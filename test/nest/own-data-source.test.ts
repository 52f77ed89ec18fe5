import { Injectable, Module } from '@nestjs/common';
import type { DataSource, DataSourceOptions } from 'typeorm';
import { Entrypoint, PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

const given = process.env['DATABASE_URL'];
const setUrl = (url: string | undefined) => {
  if (url === undefined) delete process.env['DATABASE_URL'];
  else process.env['DATABASE_URL'] = url;
};
beforeEach(() => setUrl(undefined));
afterAll(() => setUrl(given));

// That it closes what it opened is checked at the end of each test: its database can't be dropped otherwise.
describe('without a DataSource in the application, PgQueueModule', () => {
  const ground = useGround();
  const worker = () => {
    const heard = deferred();
    @Injectable()
    class Worker {
      @Entrypoint('work')
      work() {
        heard.resolve();
      }
    }
    return { Worker, heard: heard.promise };
  };

  const connections = async () => {
    const [row] = await ground.database.query<{ count: string }>(
      `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    return Number(row!.count);
  };

  it.each(['DATABASE_URL', 'the options that it was given'])('opens one for %s', async (from) => {
    if (from === 'DATABASE_URL') setUrl(ground.url);
    const options = from === 'DATABASE_URL' ? {} : { dataSource: { type: 'postgres', url: ground.url } as const };
    const { Worker, heard } = worker();
    const app = await ground.boot({ imports: [PgQueueModule.forRoot(options)], providers: [Worker] });
    await app.get(PgQueueProducer).enqueue('work');
    await heard;
    expect(await connections()).toBeGreaterThan(0);
    await app.close();
    expect(await ground.log()).toEqual([{ entrypoint: 'work', attempt: 1, status: 'successful' }]);
  });

  it('prefers the options that it was given to DATABASE_URL', async () => {
    setUrl('postgresql://127.0.0.1:1/never');
    const dataSource: DataSourceOptions = { type: 'postgres', url: ground.url };
    const app = await ground.boot({ imports: [PgQueueModule.forRoot({ dataSource })] });
    await app.get(PgQueueProducer).enqueue('work');
    expect(await ground.queued()).toEqual(['work']);
  });

  it('never takes DATABASE_URL beside a DataSource of the application, whatever its token', async () => {
    setUrl(ground.url);
    const pending = deferred<DataSource>();
    @Module({ providers: [{ provide: 'DB', useFactory: () => pending.promise }] })
    class DatabaseModule {}
    const booting = ground.boot({ imports: [PgQueueModule.forRoot(), DatabaseModule] });
    pending.resolve(await ground.dataSource());
    await expect(booting).rejects.toMatchObject({
      code: 'PGQUEUE_DATA_SOURCE',
      message: expect.stringContaining(
        "beside the application's own DataSource. The application has: DB in DatabaseModule",
      ),
    });
  });

  it('closes it again when the schema is not there and may not be made', async () => {
    const dataSource: DataSourceOptions = { type: 'postgres', url: ground.url };
    const queue = PgQueueModule.forRoot({ dataSource, schema: 'missing', migrationsRun: false });
    await expect(ground.boot({ imports: [queue] })).rejects.toMatchObject({ code: 'PGQUEUE_SCHEMA_MISSING' });
  });
});

describe('without a DataSource that it can use, PgQueueModule', () => {
  const ground = useGround({ database: false });

  it.each([undefined, ''])('fails the start when DATABASE_URL is %p, and says what it can use', async (url) => {
    setUrl(url);
    await expect(ground.boot({ imports: [PgQueueModule.forRoot()] })).rejects.toMatchObject({
      code: 'PGQUEUE_DATA_SOURCE',
      message:
        'PgQueueModule found no DataSource that it can use. The application has none. Import ' +
        'TypeOrmModule.forRoot({ type: "postgres", … }), or set the option dataSource, or set DATABASE_URL',
    });
  });

  it('fails the start when it can not connect, with the reason', async () => {
    setUrl('postgresql://nobody@127.0.0.1:1/nowhere');
    await expect(ground.boot({ imports: [PgQueueModule.forRoot()] })).rejects.toMatchObject({
      code: 'PGQUEUE_DATA_SOURCE',
      message: expect.stringMatching(/^PgQueueModule can't connect to its database: .*ECONNREFUSED/),
      cause: expect.objectContaining({ code: 'ECONNREFUSED' }),
    });
  });

  it.each(['mysql', 'cockroachdb', undefined])('refuses options of type %p', async (type) => {
    const dataSource = { type, url: 'postgresql://127.0.0.1:1/never' } as DataSourceOptions;
    await expect(ground.boot({ imports: [PgQueueModule.forRoot({ dataSource })] })).rejects.toThrow(
      `PgQueueModule needs a DataSource of type 'postgres'; this one is of type '${type}'`,
    );
  });
});

import {
  Body,
  Controller,
  HttpException,
  HttpStatus,
  Injectable,
  Module,
  Post,
  type INestApplication,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { Entrypoint, PgQueueModule, PgQueueProducer, type Job, type PgQueueOptions } from 'nestjs-pgqueue';
import request from 'supertest';
import { deferred, silentLogger } from '../support/index.js';
import { useGround, workerStops } from './support/index.js';

describe('an HTTP application', () => {
  const ground = useGround();
  afterEach(() => jest.restoreAllMocks());

  const heard = jest.fn<Promise<void> | void, [Job]>();
  beforeEach(() => heard.mockReset());

  @Controller('orders')
  class Orders {
    constructor(
      private readonly queue: PgQueueProducer,
      private readonly dataSource: DataSource,
    ) {}

    @Post()
    place(@Body() { id, stock }: { id: number; stock: number }) {
      return this.dataSource.transaction(async (manager) => {
        await manager.query('insert into orders values ($1)', [id]);
        const job = await this.queue.enqueue('send_receipt', { id }, { manager });
        if (stock === 0) throw new HttpException('sold out', HttpStatus.CONFLICT);
        return job;
      });
    }

    @Entrypoint('send_receipt')
    sendReceipt(job: Job) {
      return heard(job);
    }
  }

  const listen = async (options: PgQueueOptions = {}): Promise<INestApplication> => {
    await ground.database.query('create table orders (id int)');
    @Module({ imports: [ground.typeOrm(), PgQueueModule.forRoot(options)], controllers: [Orders] })
    class Shop {}
    const app = ground.keep(await NestFactory.create(Shop, { logger: silentLogger }));
    await app.listen(0, '127.0.0.1');
    return app;
  };
  const place = async (app: INestApplication, body: object) =>
    request(await app.getUrl())
      .post('/orders')
      .send(body);

  it('enqueues in the transaction of a request, and the handler runs once it is committed', async () => {
    const run = deferred<{ job: Job; orders: unknown }>();
    heard.mockImplementation(async (job) =>
      run.resolve({ job, orders: await ground.database.query('select id from orders') }),
    );
    const app = await listen();
    const { status, body } = await place(app, { id: 7, stock: 1 });
    expect(status).toBe(201);
    const { job, orders } = await run.promise;
    expect(job).toMatchObject({ id: body.id, payload: { id: 7 } });
    expect(orders).toEqual([{ id: 7 }]);
  });

  it('has no job of a request whose transaction is rolled back', async () => {
    const app = await listen();
    expect((await place(app, { id: 7, stock: 0 })).status).toBe(409);
    await app.close();
    expect(await ground.database.query('select from pgqueue.job')).toEqual([]);
    expect(await ground.database.query('select from orders')).toEqual([]);
    expect(heard).not.toHaveBeenCalled();
  });

  it('answers a request that comes while the worker drains, and stores its job', async () => {
    const [begun, release] = [deferred(), deferred()];
    heard.mockImplementation(() => (begun.resolve(), release.promise));
    const stops = workerStops();
    const app = await listen();
    await place(app, { id: 1, stock: 1 });
    await begun.promise;
    const closing = app.close();
    await stops;
    expect((await place(app, { id: 2, stock: 1 })).status).toBe(201);
    release.resolve();
    await closing;
    expect(await ground.log()).toEqual([{ entrypoint: 'send_receipt', attempt: 1, status: 'successful' }]);
    expect(await ground.queued()).toEqual(['send_receipt']);
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it('goes on after a handler has failed, and after another application of the process has failed to start', async () => {
    const second = deferred();
    heard.mockImplementation(({ attempt }) => {
      if (attempt === 1) throw new Error('not today');
      second.resolve();
    });
    const app = await listen({ defaults: { retry: { delay: 0 } } });
    @Injectable()
    class Refuses {
      onApplicationBootstrap() {
        throw new Error('no other one');
      }
    }
    await expect(ground.start({ providers: [Refuses] })).rejects.toThrow('no other one');
    expect((await place(app, { id: 1, stock: 1 })).status).toBe(201);
    await second.promise;
  });
});

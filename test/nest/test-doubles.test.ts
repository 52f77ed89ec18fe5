import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Entrypoint, PG_QUEUE_OPTIONS, PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

@Injectable()
class Orders {
  constructor(readonly queue: PgQueueProducer) {}
  place(id: number) {
    return this.queue.enqueue('send_receipt', { id });
  }
}

const fakeProducer = () => ({
  enqueue: jest.fn().mockResolvedValue({ id: '1', duplicate: false }),
  enqueueMany: jest.fn(),
});

describe('in a test of a provider', () => {
  const ground = useGround({ database: false });

  it('the producer can be a fake, without any module or database', async () => {
    const fake: PgQueueProducer = fakeProducer();
    const providers = [Orders, { provide: PgQueueProducer, useValue: fake }];
    const module = ground.keep(await Test.createTestingModule({ providers }).compile());
    await module.get(Orders).place(7);
    expect(fake.enqueue).toHaveBeenCalledWith('send_receipt', { id: 7 });
  });

  it('the producer can be a class of the test', async () => {
    @Injectable()
    class Recorder implements PgQueueProducer {
      readonly jobs: unknown[] = [];
      enqueue(entrypoint: string, payload?: unknown) {
        this.jobs.push([entrypoint, payload]);
        return Promise.resolve({ id: String(this.jobs.length), duplicate: false });
      }
      enqueueMany() {
        return Promise.resolve([]);
      }
    }
    const providers = [Orders, { provide: PgQueueProducer, useClass: Recorder }];
    const module = ground.keep(await Test.createTestingModule({ providers }).compile());
    expect(await module.get(Orders).place(7)).toEqual({ id: '1', duplicate: false });
    expect(module.get<unknown>(PgQueueProducer)).toHaveProperty('jobs', [['send_receipt', { id: 7 }]]);
  });
});

describe('in a test of the application', () => {
  const ground = useGround();

  it('overrideProvider(PgQueueProducer) replaces that of the module', async () => {
    const fake = fakeProducer();
    const app = await ground.boot(
      { imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Orders] },
      (builder) => builder.overrideProvider(PgQueueProducer).useValue(fake),
    );
    await app.get(Orders).place(7);
    expect(fake.enqueue).toHaveBeenCalledWith('send_receipt', { id: 7 });
    expect(await ground.queued()).toEqual([]);
  });

  it('overrideProvider(PG_QUEUE_OPTIONS) replaces the options, and those of the module are not looked at', async () => {
    @Injectable()
    class Receipts {
      @Entrypoint('send_receipt')
      send() {}
    }
    const useFactory = jest.fn(() => ({ schema: 'never' }));
    const app = await ground.boot(
      { imports: [ground.typeOrm(), PgQueueModule.forRootAsync({ useFactory })], providers: [Orders, Receipts] },
      (builder) => builder.overrideProvider(PG_QUEUE_OPTIONS).useValue({ worker: false }),
    );
    await app.get(Orders).place(7);
    await app.close();
    expect(await ground.queued()).toEqual(['send_receipt']);
    expect(useFactory).not.toHaveBeenCalled();
  });

  it('overrideProvider() of a class with handlers: the handlers of its stand-in are those that run', async () => {
    const heard = deferred();
    @Injectable()
    class Receipts {
      @Entrypoint('send_receipt')
      send() {
        throw new Error('no mails in tests');
      }
    }
    @Injectable()
    class FakeReceipts {
      @Entrypoint('send_receipt')
      send() {
        heard.resolve();
      }
    }
    const app = await ground.boot(
      { imports: [ground.typeOrm(), PgQueueModule.forRoot()], providers: [Orders, Receipts] },
      (builder) => builder.overrideProvider(Receipts).useClass(FakeReceipts),
    );
    await app.get(Orders).place(7);
    await heard.promise;
  });
});

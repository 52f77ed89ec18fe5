import { Injectable } from '@nestjs/common';
import type * as PgQueue from 'nestjs-pgqueue';
import { getPgQueueToken, PG_QUEUE_OPTIONS, PgQueueProducer } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

/** The package as another copy in this process has it, such as the ES module build beside the CommonJS one. */
function secondCopy(): typeof PgQueue {
  let copy!: typeof PgQueue;
  jest.isolateModules(() => (copy = jest.requireActual<typeof PgQueue>('nestjs-pgqueue')));
  return copy;
}

describe('two copies of the package in one process', () => {
  it('are different and have the same tokens', () => {
    const copy = secondCopy();
    expect(copy.PgQueueModule).not.toBe(secondCopy().PgQueueModule);
    expect(copy.PgQueueProducer).toBe(PgQueueProducer);
    expect(copy.PG_QUEUE_OPTIONS).toBe(PG_QUEUE_OPTIONS);
    expect(copy.getPgQueueToken(copy.PgQueueProducer, 'reports')).toBe(getPgQueueToken(PgQueueProducer, 'reports'));
  });

  it('have errors that are told by their code', () => {
    const { QueueClosedError } = secondCopy();
    expect(new QueueClosedError('default')).toMatchObject({ code: 'PGQUEUE_CLOSED', name: 'QueueClosedError' });
  });
});

describe('an application with two copies of the package', () => {
  const ground = useGround();

  it('has one producer, and finds the handlers that either decorates', async () => {
    const copy = secondCopy();
    @Injectable()
    class Library {
      constructor(readonly queue: typeof copy.PgQueueProducer.prototype) {}
    }
    Reflect.defineMetadata('design:paramtypes', [copy.PgQueueProducer], Library);
    const heard = deferred();
    @Injectable()
    class Handlers {
      @copy.Entrypoint('work')
      work() {
        heard.resolve();
      }
    }
    const { app } = await ground.start({ providers: [Library, Handlers] });
    expect(app.get(Library).queue).toBe(app.get(PgQueueProducer));
    await app.get(Library).queue.enqueue('work');
    await heard.promise;
  });
});

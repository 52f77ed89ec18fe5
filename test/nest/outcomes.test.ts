import { Injectable, type Type } from '@nestjs/common';
import { Entrypoint } from 'nestjs-pgqueue';
import { EMPTY, throwError, timer } from 'rxjs';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

const failure = new Error('not today');
const thenable = (then: (resolve: (value?: unknown) => void, reject: (reason: unknown) => void) => void) => ({ then });

const successful: [string, () => unknown][] = [
  ['returns nothing', () => undefined],
  ['returns a value at once', () => 42],
  ['returns a promise', () => Promise.resolve(42)],
  ['returns a thenable that resolves', () => thenable((resolve) => resolve(42))],
  ['returns an object with a then that is no function', () => ({ then: 'later' })],
  ['returns an Observable that completes', () => timer(0)],
  ['returns an Observable of nothing', () => EMPTY],
  ['returns a promise of an Observable that completes', () => Promise.resolve(timer(0))],
  ['returns a rejected promise inside an object', () => ({ handled: Promise.reject(failure).catch(() => undefined) })],
];

const failed: [string, () => unknown][] = [
  [
    'throws at once',
    () => {
      throw failure;
    },
  ],
  ['returns a promise that has already rejected', () => Promise.reject(failure)],
  ['returns a promise that rejects later', () => Promise.resolve().then(() => Promise.reject(failure))],
  ['returns an Observable that fails', () => throwError(() => failure)],
  ['returns a promise of an Observable that fails', () => Promise.resolve(throwError(() => failure))],
  ['returns a thenable that rejects', () => thenable((_, reject) => reject(failure))],
  [
    'returns a thenable whose then throws',
    () =>
      thenable(() => {
        throw failure;
      }),
  ],
  [
    'returns an object whose then is a getter that throws',
    () => ({
      get then() {
        throw failure;
      },
    }),
  ],
];

// Jest by itself fails a test in which a rejection is unhandled.
describe('a handler that', () => {
  const ground = useGround();
  const worker = (work: () => unknown, done: () => void): Type => {
    @Injectable()
    class Worker {
      @Entrypoint('work', { retry: { maxAttempts: 1 } })
      work() {
        done();
        return work();
      }
    }
    return Worker;
  };

  const outcomeOf = async (work: () => unknown) => {
    const begun = deferred();
    const { queue, close } = await ground.start({ providers: [worker(work, begun.resolve)] });
    await queue.enqueue('work');
    await begun.promise;
    await close();
    return ground.database.query('select status, attempt, error from pgqueue.job_log');
  };

  it.each(successful)('%s succeeds', async (_, work) => {
    expect(await outcomeOf(work)).toEqual([{ status: 'successful', attempt: 1, error: null }]);
    expect(await ground.database.query('select from pgqueue.job')).toEqual([]);
  });

  it.each(failed)('%s fails, and no rejection is unhandled', async (_, work) => {
    expect(await outcomeOf(work)).toEqual([{ status: 'failed', attempt: 1, error: 'Error: not today' }]);
    expect(await ground.database.query('select status from pgqueue.job')).toEqual([{ status: 'failed' }]);
  });

  it('rejects while its application closes fails, and no rejection is unhandled', async () => {
    const begun = deferred();
    const result = deferred();
    const { queue, close } = await ground.start({ providers: [worker(() => result.promise, begun.resolve)] });
    await queue.enqueue('work');
    await begun.promise;
    const closing = close();
    result.reject(failure);
    await closing;
    expect(await ground.log()).toEqual([{ entrypoint: 'work', attempt: 1, status: 'failed' }]);
  });

  it('rejects after its job was given back leaves no rejection unhandled', async () => {
    const begun = deferred();
    const result = deferred();
    const Worker = worker(() => result.promise, begun.resolve);
    const { queue, close } = await ground.start({ providers: [Worker] }, { worker: { shutdownTimeout: 0 } });
    await queue.enqueue('work');
    await begun.promise;
    await close();
    result.reject(failure);
    await new Promise(setImmediate);
    expect(await ground.queued()).toEqual(['work']);
  });
});

describe('a handler whose body would never run', () => {
  const ground = useGround();

  it('fails the start when a property of a subclass hides it', async () => {
    class Base {
      @Entrypoint('work')
      work() {}
    }
    @Injectable()
    class Hiding extends Base {
      constructor() {
        super();
        Object.defineProperty(this, 'work', { value: undefined });
      }
    }
    await expect(ground.start({ providers: [Hiding] })).rejects.toThrow(
      'The handler Hiding.work (in RootTestModule) is hidden by a property of its name',
    );
  });

  it('is refused where it is decorated when it is a generator', () => {
    expect(() => {
      class Generating {
        @Entrypoint('work')
        *work() {}
      }
      return Generating;
    }).toThrow('@Entrypoint() on Generating.work: it is a generator');
    expect(() => {
      class Generating {
        @Entrypoint('work')
        async *work() {}
      }
      return Generating;
    }).toThrow('it is a generator');
  });
});

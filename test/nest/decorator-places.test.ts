import { Injectable, type Type } from '@nestjs/common';
import { Entrypoint, type EntrypointOptions, InvalidEntrypointError, type Job } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

/** What a program without types can do. */
const anywhere = Entrypoint('greet') as PropertyDecorator & MethodDecorator;

const refused: [string, string, () => unknown][] = [
  [
    'a getter',
    'Greeter.greet: it is an accessor',
    () => {
      class Greeter {
        @anywhere
        get greet() {
          return () => undefined;
        }
      }
      return Greeter;
    },
  ],
  [
    'a setter',
    'Greeter.greet: it is an accessor',
    () => {
      class Greeter {
        @anywhere
        set greet(_: unknown) {}
      }
      return Greeter;
    },
  ],
  [
    'an arrow function in a property',
    'Greeter.greet: it is a property',
    () => {
      class Greeter {
        @anywhere
        greet = () => undefined;
      }
      return Greeter;
    },
  ],
  [
    'a static method',
    'Greeter.greet: it is static',
    () => {
      class Greeter {
        @anywhere
        static greet() {}
      }
      return Greeter;
    },
  ],
  [
    'a method whose name is a symbol',
    'Greeter.Symbol(greet): its name is a symbol',
    () => {
      const greet = Symbol('greet');
      class Greeter {
        @anywhere
        [greet]() {}
      }
      return Greeter;
    },
  ],
];

/** Makes a method count its calls. */
function counting(calls: unknown[]): MethodDecorator {
  return (_target, _key, descriptor: PropertyDescriptor) => {
    const original = descriptor.value as (...args: unknown[]) => unknown;
    descriptor.value = function (this: unknown, ...args: unknown[]) {
      calls.push(args);
      return original.apply(this, args);
    };
  };
}

/** Makes a method an accessor that binds it, as decorators called autobind do. */
const bound: MethodDecorator = (_target, _key, descriptor) => {
  const original = descriptor.value as unknown as (...args: unknown[]) => unknown;
  return {
    configurable: true,
    get(this: unknown) {
      return original.bind(this);
    },
  } as unknown as typeof descriptor;
};

describe('@Entrypoint()', () => {
  it.each(refused)('is refused on %s, naming class and member', (_, message, define) => {
    expect(define).toThrow(InvalidEntrypointError);
    expect(define).toThrow(`@Entrypoint() on ${message}`);
    expect(define).toThrow('Put it on an ordinary method');
  });
});

describe('a handler', () => {
  const ground = useGround();

  const heardBy = async (define: (heard: (name: string) => void) => Type) => {
    const heard = deferred<string>();
    const { queue, close } = await ground.start({ providers: [define(heard.resolve)] });
    await queue.enqueue('greet', 'Ann');
    const name = await heard.promise;
    await close();
    expect(await ground.log()).toEqual([{ entrypoint: 'greet', attempt: 1, status: 'successful' }]);
    return name;
  };

  it.each(['over', 'under'])('works %s a decorator that wraps the method, and the wrapper is called', async (place) => {
    const calls: unknown[] = [];
    const [upper, lower] = place === 'over' ? [anywhere, counting(calls)] : [counting(calls), anywhere];
    const name = await heardBy((heard) => {
      @Injectable()
      class Greeter {
        @upper
        @lower
        greet(job: Job<string>) {
          heard(job.payload);
        }
      }
      return Greeter;
    });
    expect(name).toBe('Ann');
    expect(calls).toEqual([[expect.objectContaining({ payload: 'Ann' }), expect.anything()]]);
  });

  it('works under a decorator that makes the method an accessor', async () => {
    const name = await heardBy((heard) => {
      @Injectable()
      class Greeter {
        readonly hear = heard;
        @bound
        @anywhere
        greet(job: Job<string>) {
          this.hear(job.payload);
        }
      }
      return Greeter;
    });
    expect(name).toBe('Ann');
  });

  it('works on an async method and on one that a mixin defines', async () => {
    const mixin = (heard: (name: string) => void) => {
      @Injectable()
      class Mixed {
        @anywhere
        async ['greet'](job: Job<string>) {
          await Promise.resolve();
          heard(job.payload);
        }
      }
      return Mixed;
    };
    expect(await heardBy(mixin)).toBe('Ann');
  });
});

describe('@Entrypoint() with wrong options', () => {
  it.each([
    [{ retry: { maxAttempts: 0 } }, 'options.retry.maxAttempts is 0; expected a whole number from 1 to 2147483647'],
    [
      { retry: { delay: '5' } },
      'options.retry.delay is "5"; expected a number of milliseconds from 0 to 3155760000000, not a string: write Number("5")',
    ],
    [{ retry: { attempts: 3 } }, 'options.retry.attempts is 3; expected one of the options'],
    [
      { retries: {} },
      'options.retries is an object; expected one of the options retry, timeout, onFailure, transactional, queue',
    ],
    [{ queue: 7 }, 'options.queue is 7; expected a string'],
  ])('is refused where it is decorated: %p', (options, message) => {
    expect(() => {
      class Receipts {
        @Entrypoint('send', options as EntrypointOptions)
        send() {}
      }
      return Receipts;
    }).toThrow(`@Entrypoint() on Receipts.send: ${message}`);
  });
});

describe('@Entrypoint() on a method that can not take (job, context)', () => {
  it('does not compile', () => {
    class Receipts {
      @Entrypoint('takes_nothing')
      takesNothing() {}
      @Entrypoint('takes_a_payload')
      takesAPayload(_job: Job<{ orderId: number }>) {}
      // @ts-expect-error it asks for three arguments
      @Entrypoint('takes_three')
      takesThree(_job: Job, _context: unknown, _more: string) {}
      // @ts-expect-error a job is no string
      @Entrypoint('takes_a_string')
      takesAString(_job: string) {}
    }
    expect(Receipts).toBeDefined();
  });
});

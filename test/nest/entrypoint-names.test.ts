import { Injectable, Module, type Type } from '@nestjs/common';
import { Entrypoint, PgQueueError, PgQueueModule, type EntrypointName, type Job } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

const namedBy = (name: EntrypointName): Type => {
  @Injectable()
  class Greeter {
    @Entrypoint(name)
    greet() {}
  }
  return Greeter;
};

describe('the name of an entrypoint', () => {
  const ground = useGround();

  it('can come from a function, which is called once, at start', async () => {
    const heard = deferred<Job>();
    const name = jest.fn(() => 'greet_in_berlin');
    @Injectable()
    class Greeter {
      @Entrypoint(name)
      greet(job: Job) {
        heard.resolve(job);
      }
    }
    expect(name).not.toHaveBeenCalled();
    const { queue } = await ground.start({ providers: [Greeter] });
    await queue.enqueue('greet_in_berlin');
    expect((await heard.promise).entrypoint).toBe('greet_in_berlin');
    expect(name).toHaveBeenCalledTimes(1);
  });

  it('fails the start when its function throws, naming class and method', async () => {
    const cause = new Error('CITY is not set');
    const name = () => {
      throw cause;
    };
    await expect(ground.start({ providers: [namedBy(name)] })).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_ENTRYPOINT',
      message: 'The function in @Entrypoint() on Greeter.greet failed: Error: CITY is not set',
      cause,
    });
  });

  it.each([
    ['undefined', 'is undefined; expected a name: a string that is not empty', () => undefined],
    ['a promise', 'is an object; expected a name: a string that is not empty', () => Promise.resolve('greet')],
    ['an empty string', 'is ""; expected a name: a string that is not empty', () => ''],
    ['a number', 'is 7; expected a name: a string that is not empty', () => 7],
    ['10 KB', '(10242 characters); expected a name of at most 512 bytes', () => 'x'.repeat(10_240)],
    ['U+0000', 'is "a\\u0000b"; expected a name without U+0000', () => 'a\0b'],
  ])('fails the start when it is %s', async (_, message, name) => {
    const started = ground.start({ providers: [namedBy(name as () => string)] });
    await expect(started).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_OPTION',
      message: expect.stringContaining(message),
    });
    await expect(started).rejects.toThrow('The name in @Entrypoint() on Greeter.greet is ');
  });

  it('belongs to one of several handlers in a class, and a method can have several', async () => {
    const heard: string[] = [];
    const all = deferred();
    @Injectable()
    class Greeter {
      @Entrypoint('hello')
      @Entrypoint('hi')
      greet({ entrypoint }: Job) {
        this.note(`greet: ${entrypoint}`);
      }
      @Entrypoint('bye')
      leave({ entrypoint }: Job) {
        this.note(`leave: ${entrypoint}`);
      }
      note(what: string) {
        heard.push(what);
        if (heard.length === 3) all.resolve();
      }
    }
    const { queue } = await ground.start({ providers: [Greeter] }, { worker: { concurrency: 1 } });
    await queue.enqueueMany([{ entrypoint: 'hello' }, { entrypoint: 'hi' }, { entrypoint: 'bye' }]);
    await all.promise;
    expect(heard).toEqual(['greet: hello', 'greet: hi', 'leave: bye']);
  });
});

describe('two handlers of one name fail the start, which names', () => {
  const ground = useGround();

  const refusal = async (start: Promise<unknown>): Promise<string> => {
    const error: unknown = await start.then(
      () => new Error('It started'),
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: 'PGQUEUE_INVALID_ENTRYPOINT' });
    return (error as PgQueueError).message;
  };

  it('both of their classes', async () => {
    @Injectable()
    class Mails {
      @Entrypoint('greet')
      send() {}
    }
    expect(await refusal(ground.start({ providers: [Mails, namedBy('greet')] }))).toBe(
      `Entrypoint 'greet' has two handlers: Mails.send (in RootTestModule) and Greeter.greet (in RootTestModule). ` +
        `Rename or remove one`,
    );
  });

  it('both methods of one class', async () => {
    @Injectable()
    class Mails {
      @Entrypoint('greet')
      send() {}
      @Entrypoint(() => 'greet')
      sendAgain() {}
    }
    expect(await refusal(ground.start({ providers: [Mails] }))).toContain(
      'Mails.send (in RootTestModule) and Mails.sendAgain',
    );
  });

  it('the modules, when both provide the same class', async () => {
    const Greeter = namedBy('greet');
    @Module({ providers: [Greeter] })
    class Shop {}
    @Module({ providers: [Greeter] })
    class Office {}
    expect(await refusal(ground.start({ imports: [Shop, Office] }))).toContain(
      'Greeter.greet (in Shop) and Greeter.greet (in Office)',
    );
  });

  it('a handler and its heir, when both are provided', async () => {
    const Greeter = namedBy('greet');
    @Injectable()
    class Loud extends Greeter {}
    expect(await refusal(ground.start({ providers: [Greeter, Loud] }))).toContain(
      'Greeter.greet (in RootTestModule) and Loud.greet',
    );
  });

  it('them also where nothing is run', async () => {
    const start = ground.boot({
      imports: [ground.typeOrm(), PgQueueModule.forRoot({ worker: false })],
      providers: [namedBy('greet'), { provide: 'other', useClass: namedBy('greet') }],
    });
    expect(await refusal(start)).toContain(`Entrypoint 'greet' has two handlers`);
  });
});

import { Controller, Injectable, Module, Scope, type Provider, type Type } from '@nestjs/common';
import { Entrypoint } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

const RAN_ONCE = [{ entrypoint: 'greet', attempt: 1, status: 'successful' }];

function greeter() {
  const heard = deferred<unknown>();
  @Injectable()
  class Greeter {
    @Entrypoint('greet')
    greet() {
      heard.resolve(this);
    }
  }
  return { Greeter, heard: heard.promise };
}

const kinds: [string, (greeter: Type) => Provider[]][] = [
  ['a class', (cls) => [cls]],
  ['useClass', (cls) => [{ provide: 'greeter', useClass: cls }]],
  ['useFactory', (cls) => [{ provide: 'greeter', useFactory: () => new cls() }]],
  ['an async useFactory', (cls) => [{ provide: 'greeter', useFactory: () => Promise.resolve(new cls()) }]],
  [
    'a useFactory that injects',
    (cls) => [
      { provide: 'greeter', inject: ['name'], useFactory: (name: string) => new cls(name) },
      { provide: 'name', useValue: 'Ann' },
    ],
  ],
  ['useValue', (cls) => [{ provide: 'greeter', useValue: new cls() }]],
  ['useExisting beside it', (cls) => [cls, { provide: 'alias', useExisting: cls }]],
  [
    'useExisting before it, twice',
    (cls) => [{ provide: 'one', useExisting: 'two' }, { provide: 'two', useExisting: cls }, cls],
  ],
  ['a factory that hands it on', (cls) => [cls, { provide: 'alias', inject: [cls], useFactory: (it: unknown) => it }]],
];

describe('a handler is found', () => {
  const ground = useGround();

  it.each(kinds)('once on a provider given as %s', async (_, provide) => {
    const { Greeter, heard } = greeter();
    const { queue, close } = await ground.start({ providers: provide(Greeter) });
    await queue.enqueue('greet');
    expect(await heard).toBeInstanceOf(Greeter);
    await close();
    expect(await ground.log()).toEqual(RAN_ONCE);
  });

  it.each([
    ['request', Scope.REQUEST],
    ['transient', Scope.TRANSIENT],
  ])('once on a provider of %s scope that has an alias and is injected elsewhere', async (_, scope) => {
    const heard = deferred();
    @Injectable({ scope })
    class Greeter {
      @Entrypoint('greet')
      greet() {
        heard.resolve();
      }
    }
    @Injectable()
    class User {
      constructor(readonly greeter: Greeter) {}
    }
    const alias = { provide: 'alias', useExisting: Greeter };
    const { queue, close } = await ground.start({ providers: [alias, Greeter, User] });
    await queue.enqueue('greet');
    await heard.promise;
    await close();
    expect(await ground.log()).toEqual(RAN_ONCE);
  });

  it('on a controller', async () => {
    const heard = deferred<unknown>();
    @Controller()
    class Greetings {
      @Entrypoint('greet')
      greet() {
        heard.resolve(this);
      }
    }
    const { app, queue } = await ground.start({ controllers: [Greetings] });
    await queue.enqueue('greet');
    expect(await heard.promise).toBe(app.get(Greetings));
  });

  it('once on the provider of a module that several import', async () => {
    const { Greeter, heard } = greeter();
    @Module({ providers: [Greeter], exports: [Greeter] })
    class GreeterModule {}
    @Module({ imports: [GreeterModule], exports: [GreeterModule] })
    class FirstModule {}
    @Module({ imports: [FirstModule, GreeterModule] })
    class SecondModule {}
    const { app, queue, close } = await ground.start({ imports: [SecondModule, FirstModule] });
    await queue.enqueue('greet');
    expect(await heard).toBe(app.get(Greeter, { strict: false }));
    await close();
    expect(await ground.log()).toEqual(RAN_ONCE);
  });

  it('beside values of every kind, whose accessors are left alone', async () => {
    const { Greeter, heard } = greeter();
    class Lazy {
      get expensive(): never {
        throw new Error('expensive was read');
      }
    }
    const values = [null, undefined, 0, 'text', Symbol('it'), () => 1, Greeter, [], Object.create(null), new Lazy()];
    const providers = values.map((useValue: unknown, index) => ({ provide: `value ${index}`, useValue }));
    const { queue } = await ground.start({ providers: [...providers, Greeter] });
    await queue.enqueue('greet');
    expect(await heard).toBeInstanceOf(Greeter);
  });
});

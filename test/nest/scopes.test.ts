import { Controller, Inject, Injectable, Scope } from '@nestjs/common';
import { ContextIdFactory, REQUEST, type ContextId, type ContextIdStrategy } from '@nestjs/core';
import { Entrypoint, type Job } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

/** Resolves with what was noted when `count` notes are there. */
function notes<T>(count: number) {
  const noted: T[] = [];
  const all = deferred<T[]>();
  const note = (what: T) => {
    if (noted.push(what) === count) all.resolve(noted);
  };
  return { note, all: all.promise };
}

describe('the instance that handles a job', () => {
  const ground = useGround();

  it('is one for all jobs in the ordinary scope', async () => {
    const { note, all } = notes<unknown>(2);
    @Injectable()
    class Greeter {
      @Entrypoint('greet')
      greet() {
        note(this);
      }
    }
    const { app, queue } = await ground.start({ providers: [Greeter] });
    await queue.enqueueMany([{ entrypoint: 'greet' }, { entrypoint: 'greet' }]);
    expect(await all).toEqual([app.get(Greeter), app.get(Greeter)]);
  });

  it('is one for each job in request scope, with the job as its request, whatever it is injected into', async () => {
    const { note, all } = notes<{ instance: unknown; request: Job; payload: unknown }>(2);
    @Injectable({ scope: Scope.REQUEST })
    class Session {
      constructor(@Inject(REQUEST) readonly job: Job) {}
    }
    @Injectable()
    class Greeter {
      constructor(readonly session: Session) {}
      @Entrypoint('greet')
      greet(job: Job) {
        note({ instance: this, request: this.session.job, payload: job.payload });
      }
    }
    const { queue } = await ground.start({ providers: [Greeter, Session] });
    await queue.enqueueMany([
      { entrypoint: 'greet', payload: 1 },
      { entrypoint: 'greet', payload: 2 },
    ]);
    const seen = await all;
    expect(new Set(seen.map(({ instance }) => instance)).size).toBe(2);
    expect(seen.map(({ request }) => request.payload).sort()).toEqual([1, 2]);
    for (const { request, payload } of seen) expect(request.payload).toBe(payload);
  });

  it('is one for each job in transient scope', async () => {
    const { note, all } = notes<unknown>(3);
    @Injectable({ scope: Scope.TRANSIENT })
    class Greeter {
      @Entrypoint('greet')
      greet() {
        note(this);
      }
    }
    const { queue } = await ground.start({ providers: [Greeter] });
    await queue.enqueueMany([{ entrypoint: 'greet' }, { entrypoint: 'greet' }, { entrypoint: 'greet' }]);
    const instances = await all;
    expect(new Set(instances).size).toBe(3);
    for (const each of instances) expect(each).toBeInstanceOf(Greeter);
  });

  it('that can not be made fails the attempt, not the worker', async () => {
    const heard = deferred<number>();
    let made = 0;
    @Injectable({ scope: Scope.REQUEST })
    class Greeter {
      constructor() {
        if (++made === 1) throw new Error('not today');
      }
      @Entrypoint('greet', { retry: { delay: 0 } })
      greet({ attempt }: Job) {
        heard.resolve(attempt);
      }
    }
    const { queue, close } = await ground.start({ providers: [Greeter] });
    await queue.enqueue('greet');
    expect(await heard.promise).toBe(2);
    await close();
    expect((await ground.log()).map(({ status }) => status)).toEqual(['retried', 'successful']);
  });
});

describe('a durable handler', () => {
  const ground = useGround();

  /** As Nest's documentation has it, with the tenant in the headers of the job. */
  class ByTenant implements ContextIdStrategy<Job> {
    private readonly tenants = new Map<unknown, ContextId>();

    attach(contextId: ContextId, { headers }: Job) {
      const { tenant } = headers;
      const parent = this.tenants.get(tenant) ?? ContextIdFactory.create();
      this.tenants.set(tenant, parent);
      return {
        resolve: ({ isTreeDurable }: { isTreeDurable: boolean }) => (isTreeDurable ? parent : contextId),
        payload: { tenant },
      };
    }
  }
  beforeEach(() => ContextIdFactory.apply(new ByTenant()));
  afterEach(() => ContextIdFactory.apply(undefined as unknown as ContextIdStrategy));

  it('is one for each tenant, and knows which', async () => {
    const { note, all } = notes<{ instance: unknown; tenant: unknown; of: unknown }>(4);
    @Injectable({ scope: Scope.REQUEST, durable: true })
    class Greeter {
      constructor(@Inject(REQUEST) readonly request: { tenant: string }) {}
      @Entrypoint('greet')
      greet({ headers }: Job) {
        note({ instance: this, tenant: this.request.tenant, of: headers['tenant'] });
      }
    }
    const { queue } = await ground.start({ providers: [Greeter] });
    const jobs = ['a', 'b', 'a', 'b'].map((tenant) => ({ entrypoint: 'greet', headers: { tenant } }));
    await queue.enqueueMany(jobs);
    const seen = await all;
    expect(new Set(seen.map(({ instance }) => instance)).size).toBe(2);
    for (const { tenant, of } of seen) expect(tenant).toBe(of);
  });
});

describe('a controller of request scope', () => {
  const ground = useGround();

  it('can not have handlers: the start fails and says where to put them', async () => {
    @Controller({ scope: Scope.REQUEST })
    class Greetings {
      @Entrypoint('greet')
      greet() {}
    }
    await expect(ground.start({ controllers: [Greetings] })).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_ENTRYPOINT',
      message:
        'The handler Greetings.greet (in RootTestModule) is in a controller of request scope, ' +
        'which Nest makes for HTTP requests only. Move it to a provider',
    });
  });

  it('is one also when only something that it injects is of request scope', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Session {}
    @Controller()
    class Greetings {
      constructor(readonly session: Session) {}
      @Entrypoint('greet')
      greet() {}
    }
    await expect(ground.start({ controllers: [Greetings], providers: [Session] })).rejects.toThrow(
      'The handler Greetings.greet (in RootTestModule) is in a controller of request scope',
    );
  });
});

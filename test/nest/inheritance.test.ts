import { Injectable, type Type } from '@nestjs/common';
import { Entrypoint, type Job } from 'nestjs-pgqueue';
import { deferred } from '../support/index.js';
import { useGround } from './support/index.js';

describe('a handler of a class that another extends', () => {
  const ground = useGround();

  const heardBy = async (cls: Type, entrypoint: string) => {
    const heard = deferred<string>();
    Object.assign(cls.prototype, { hear: heard.resolve });
    const { queue, close } = await ground.start({ providers: [cls] });
    await queue.enqueue(entrypoint);
    const what = await heard.promise;
    await close();
    expect((await ground.log()).length).toBe(1);
    return what;
  };

  abstract class Base {
    declare hear: (what: string) => void;
    abstract readonly name: string;

    @Entrypoint('base')
    handle(job: Job) {
      this.hear(`${this.name} heard ${job.entrypoint}`);
    }
  }

  it('is inherited from an abstract class', async () => {
    @Injectable()
    class Derived extends Base {
      readonly name = 'Derived';
    }
    expect(await heardBy(Derived, 'base')).toBe('Derived heard base');
  });

  it('keeps its name when it is overridden without a decorator', async () => {
    @Injectable()
    class Derived extends Base {
      readonly name = 'Derived';
      override handle(job: Job) {
        this.hear(`override heard ${job.entrypoint}`);
      }
    }
    expect(await heardBy(Derived, 'base')).toBe('override heard base');
  });

  it('has only its new name when it is overridden with a decorator', async () => {
    @Injectable()
    class Derived extends Base {
      readonly name = 'Derived';
      @Entrypoint('derived')
      override handle(job: Job) {
        super.handle(job);
      }
    }
    expect(await heardBy(Derived, 'derived')).toBe('Derived heard derived');
    const { queue, close } = await ground.start({ providers: [Derived] });
    await queue.enqueue('base');
    await close();
    expect(await ground.queued()).toEqual(['base']);
  });

  it('is called through several levels of super', async () => {
    class Middle extends Base {
      readonly name: string = 'Middle';
      override handle(job: Job) {
        super.handle({ ...job, entrypoint: `${job.entrypoint}, middle` });
      }
    }
    @Injectable()
    class Derived extends Middle {
      override readonly name = 'Derived';
      override handle(job: Job) {
        super.handle({ ...job, entrypoint: `${job.entrypoint}, derived` });
      }
    }
    expect(await heardBy(Derived, 'base')).toBe('Derived heard base, derived, middle');
  });

  it('is found on every level, beside those of the class itself', async () => {
    class Middle extends Base {
      readonly name: string = 'Middle';
      @Entrypoint('middle')
      inMiddle(job: Job) {
        this.handle(job);
      }
    }
    @Injectable()
    class Derived extends Middle {
      override readonly name = 'Derived';
      @Entrypoint('derived')
      inDerived(job: Job) {
        this.handle(job);
      }
    }
    const heard = new Map(['base', 'middle', 'derived'].map((name) => [`Derived heard ${name}`, deferred()]));
    Derived.prototype.hear = (what) => heard.get(what)?.resolve();
    const { queue } = await ground.start({ providers: [Derived] });
    await queue.enqueueMany([{ entrypoint: 'base' }, { entrypoint: 'middle' }, { entrypoint: 'derived' }]);
    await Promise.all([...heard.values()].map(({ promise }) => promise));
  });

  it('leaves the class that it was inherited from, and its other heirs, as they were', async () => {
    const heard = [deferred<string>(), deferred<string>()];
    class Shared {
      name(): string {
        return this.constructor.name;
      }
    }
    @Injectable()
    class Left extends Shared {
      @Entrypoint('left')
      override name() {
        heard[0]!.resolve(super.name());
        return 'left';
      }
    }
    @Injectable()
    class Right extends Shared {
      @Entrypoint('right')
      override name() {
        heard[1]!.resolve(super.name());
        return 'right';
      }
    }
    const { queue } = await ground.start({ providers: [Left, Right, Shared] });
    await queue.enqueueMany([{ entrypoint: 'left' }, { entrypoint: 'right' }]);
    expect(await Promise.all(heard.map(({ promise }) => promise))).toEqual(['Left', 'Right']);
  });
});

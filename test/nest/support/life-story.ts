// Imports nothing of the tests, as the consumer on Nest 12 runs it too.
import { type DynamicModule, Injectable, Module, type Type } from '@nestjs/common';
import { Entrypoint, PgQueueModule } from 'nestjs-pgqueue';
import type { Layout } from './layouts.js';

/** What a story is told with. */
export interface Stage {
  readonly typeOrm: DynamicModule;
  /** How the attempts that are recorded have ended. */
  outcomes(): Promise<string[]>;
  /** Called when the handler begins, which then runs for as long as this takes. */
  work(tell: (line: string) => void): Promise<void>;
}

/** What a life is like where the worker starts after all hooks, and is drained before them. */
export const IN_ORDER: readonly string[] = [
  'init: 0 outcomes',
  'bootstrap: 0 outcomes',
  'worker starts',
  'handler ends: 0 outcomes',
  'destroy: successful',
];

/**
 * A module with a witness that stands as `layout` has it: it handles the job `work` and tells of its hooks, each for the first
 * time: a microservice may call them twice, and so does an application that is closed twice.
 */
export function witnessModule(layout: Layout, stage: Stage, tell: (line: string) => void): Type {
  const told = new Set<string>();
  const once = async (hook: string, what: () => Promise<string>) => {
    if (told.has(hook)) return;
    told.add(hook);
    tell(`${hook}: ${await what()}`);
  };
  const count = async () => `${(await stage.outcomes()).length} outcomes`;

  @Injectable()
  class Witness {
    onModuleInit() {
      return once('init', count);
    }
    onApplicationBootstrap() {
      return once('bootstrap', count);
    }
    @Entrypoint('work')
    async work() {
      await stage.work(tell);
      // A hook that didn't wait for this would run while it asks the database.
      tell(`handler ends: ${await count()}`);
    }
    onModuleDestroy() {
      return once('destroy', async () => (await stage.outcomes()).join());
    }
  }
  const queue = (imports: Type[] = []) => PgQueueModule.forRootAsync({ imports, useFactory: () => ({}) });
  @Module(layout(Witness, { typeOrm: stage.typeOrm, queue }))
  class Root {}
  return Root;
}

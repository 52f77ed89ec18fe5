import {
  ConfigurableModuleBuilder,
  Module,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  type OptionalFactoryDependency,
  type Provider,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { PgQueueCompletion } from './client/completion.js';
import { PgQueueAdmin } from './client/admin.js';
import { PgQueueProducer } from './client/producer.js';
import { InvalidOptionError } from './domain/errors.js';
import { PgQueueWorker } from './nest/pg-queue-worker.js';
import { PgQueueCoreModule } from './nest/pg-queue-core.module.js';
import { QueueLifecycle } from './nest/queue-lifecycle.js';
import { QueueRuntime } from './nest/queue-runtime.js';
import { resolveOptions, type PgQueueOptions } from './options.js';
import { DEFAULT_QUEUE, getPgQueueToken, PG_QUEUE_OPTIONS } from './tokens.js';

/** Given beside the options, to `forRoot` and `forRootAsync` alike, for they shape the module itself. */
export interface PgQueueExtras {
  /** Name of the queue, for applications with several. @default 'default' */
  name?: string | undefined;
  /** Whether the producer can be injected everywhere. @default true */
  isGlobal?: boolean | undefined;
  /** Token of the application's DataSource, such as `getDataSourceToken('reports')`. @default the class `DataSource` */
  dataSourceToken?: InjectionToken | undefined;
}

const EXTRAS: PgQueueExtras = { name: DEFAULT_QUEUE, isGlobal: true, dataSourceToken: undefined };

const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } = new ConfigurableModuleBuilder<PgQueueOptions>({
  optionsInjectionToken: PG_QUEUE_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createPgQueueOptions')
  .setExtras(EXTRAS, addQueue)
  .build();

/** The queue of an application: brings its schema up to date, provides its producer, and runs its handlers. */
@Module({})
export class PgQueueModule extends ConfigurableModuleClass {
  /** @param options all have defaults */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    return super.forRoot(options);
  }

  /** As `forRoot`, with options from `useFactory` (`inject`, `imports`), `useClass` or `useExisting`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    checkSource(options);
    return super.forRootAsync(options);
  }
}

// What a circular import has left undefined: Nest's own errors don't say where.
function checkSource({ inject = [], useFactory, useClass, useExisting }: typeof ASYNC_OPTIONS_TYPE): void {
  const missing = inject.findIndex((each) => (isOptional(each) ? each.token : each) === undefined);
  if (missing >= 0) {
    throw new InvalidOptionError(
      `PgQueueModule.forRootAsync.inject[${missing}]`,
      undefined,
      'a token (is there a circular import?)',
    );
  }
  if (useFactory === undefined && useClass === undefined && useExisting === undefined) {
    const expected = 'useFactory, useClass or useExisting (is there a circular import?)';
    throw new InvalidOptionError('The source of the options of PgQueueModule.forRootAsync', undefined, expected);
  }
}

function isOptional(token: InjectionToken | OptionalFactoryDependency): token is OptionalFactoryDependency {
  return typeof token === 'object' && 'optional' in token;
}

const RUNTIME = Symbol('nestjs-pgqueue/runtime');

function addQueue(definition: DynamicModule, extras: PgQueueExtras): DynamicModule {
  const { name = DEFAULT_QUEUE, isGlobal = true, dataSourceToken } = extras;
  checkName(name);
  const parts = [
    provide(getPgQueueToken(PgQueueProducer, name), (runtime) => runtime.producer),
    provide(getPgQueueToken(PgQueueCompletion, name), (runtime) => runtime.completion),
    provide(getPgQueueToken(PgQueueAdmin, name), (runtime) => runtime.admin),
    provide(getPgQueueToken(PgQueueWorker, name), (runtime) => runtime.worker),
  ];
  return {
    ...definition,
    global: isGlobal,
    imports: [...(definition.imports ?? []), PgQueueCoreModule],
    providers: [...(definition.providers ?? []), runtimeProvider(name, dataSourceToken), ...parts],
    exports: [...(definition.exports ?? []), ...parts.map((part) => part.provide)],
  };
}

function provide(token: InjectionToken, part: (runtime: QueueRuntime) => unknown): FactoryProvider {
  return { provide: token, inject: [RUNTIME], useFactory: part };
}

function runtimeProvider(name: string, token: InjectionToken | undefined): Provider {
  return {
    provide: RUNTIME,
    inject: [PG_QUEUE_OPTIONS, { token: token ?? DataSource, optional: true }, ModulesContainer, QueueLifecycle],
    useFactory: async (
      given: PgQueueOptions | undefined,
      injected: unknown,
      modules: ModulesContainer,
      lifecycle: QueueLifecycle,
    ) => {
      lifecycle.reserve(name);
      const options = resolveOptions(checkGiven(given), where(name));
      const handlers = (queue: QueueRuntime) => lifecycle.handlersOf(queue);
      const { dataSource } = options;
      const runtime = await QueueRuntime.open({ name, options, handlers, given: dataSource, injected, token, modules });
      await lifecycle.add(runtime);
      return runtime;
    },
  };
}

function checkGiven(given: PgQueueOptions | undefined): PgQueueOptions {
  if (given == null)
    throw new InvalidOptionError('What the factory of PgQueueModule.forRootAsync returned', given, 'the options');
  return given;
}

function checkName(name: unknown): void {
  if (typeof name !== 'string' || name === '') {
    throw new InvalidOptionError('PgQueueModule.name', name, 'a string that is not empty');
  }
}

function where(name: string): string {
  return name === DEFAULT_QUEUE ? 'PgQueueModule' : `PgQueueModule '${name}'`;
}

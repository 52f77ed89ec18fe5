import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { Handler } from '../claimer/worker-context.js';
import {
  DuplicateQueueError,
  InvalidEntrypointError,
  InvalidOptionError,
  SharedSchemaError,
} from '../domain/errors.js';
import { refuseFallback } from './data-source.resolver.js';
import { EntrypointExplorer, type FoundEntrypoint } from './entrypoint.explorer.js';
import { createHandler } from './handler.factory.js';
import type { QueueRuntime } from './queue-runtime.js';
import { ShutdownWarner } from './shutdown-warner.js';

/** Starts the workers of all queues after everything else of the application, and drains them before. */
@Injectable()
export class QueueLifecycle
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly names = new Set<string>();
  private readonly runtimes: QueueRuntime[] = [];
  private readonly warner = new ShutdownWarner();
  private found: readonly FoundEntrypoint[] | undefined;
  private started = false;
  private stopped = false;

  constructor(
    private readonly modules: ModulesContainer,
    private readonly explorer: EntrypointExplorer,
  ) {
    goLast(modules);
  }

  /** @throws DuplicateQueueError */
  reserve(name: string): void {
    if (this.names.has(name)) throw new DuplicateQueueError(name);
    this.names.add(name);
  }

  /** @throws SharedSchemaError */
  async add(runtime: QueueRuntime): Promise<void> {
    const twin = this.runtimes.find((other) => other.isSameAs(runtime));
    this.runtimes.push(runtime);
    if (twin === undefined) return;
    await this.onApplicationShutdown(); // Nest runs no hooks of an application that failed to start
    throw new SharedSchemaError(twin.name, runtime.name, runtime.options.schema);
  }

  async onApplicationBootstrap(): Promise<void> {
    // createMicroservice().init() runs its hooks twice, and a close() can overtake an init().
    if (this.started || this.stopped) return;
    this.started = true;
    try {
      await this.start();
    } catch (error) {
      if (this.stopped) return; // a close() has overtaken it here
      await this.onApplicationShutdown(); // Nest runs no more hooks of an application that failed to start
      throw error;
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    this.warner.stop();
    await Promise.all(this.runtimes.map(({ worker }) => worker.close()));
  }

  /** While workers drained, a request could still get the result that it waits for; now its server is about to close. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.runtimes.map(({ completion }) => completion.close()));
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.runtimes.map((runtime) => runtime.close()));
  }

  /** What the worker of this queue runs. */
  handlersOf(runtime: QueueRuntime): readonly Handler[] {
    return selectHandlers(runtime, this.explore());
  }

  private async start(): Promise<void> {
    for (const { source } of this.runtimes) refuseFallback(source, this.modules);
    const found = this.explore();
    const started = this.runtimes.filter((runtime) => {
      const handlers = selectHandlers(runtime, found); // of all queues before any starts, as one may be wrong
      return runtime.options.worker !== false && runtime.options.worker.autoStart && handlers.length > 0;
    });
    await Promise.all(started.map(({ worker }) => worker.start()));
    if (started.length > 0) this.warner.start();
  }

  private explore(): readonly FoundEntrypoint[] {
    const found = this.found ?? this.explorer.explore().map((each) => this.checkQueue(each));
    // Whoever asks earlier may do so while Nest still makes providers.
    if (this.started) this.found = found;
    return found;
  }

  private checkQueue(found: FoundEntrypoint): FoundEntrypoint {
    const { queue, label } = found;
    if (this.names.has(queue)) return found;
    const known = [...this.names].map((name) => `'${name}'`).join(', ');
    throw new InvalidEntrypointError(
      `The handler ${label} is for the queue '${queue}', which no PgQueueModule has; there is ${known}`,
    );
  }
}

// Nest runs the hooks of modules by their distance from the root: bootstraps the nearest last and destroys it first.
// The property is typed and not documented, so the tests run start and stop in many layouts on each major version.
function goLast(modules: ModulesContainer): void {
  for (const module of modules.values()) {
    if (module.providers.has(QueueLifecycle)) module.distance = -1;
  }
}

function selectHandlers(runtime: QueueRuntime, found: readonly FoundEntrypoint[]): Handler[] {
  const mine = found.filter(({ queue }) => queue === runtime.name);
  const only = runtime.options.worker === false ? undefined : runtime.options.worker.entrypoints;
  const unknown = only?.find((name) => !mine.some((each) => each.name === name));
  if (unknown !== undefined) {
    throw new InvalidOptionError(
      'PgQueueModule.worker.entrypoints',
      unknown,
      mine.length === 0
        ? 'nothing, as no handler was found'
        : `names that have a handler: ${mine.map(({ name }) => name).join(', ')}`,
    );
  }
  return mine
    .filter(({ name }) => only?.includes(name) ?? true)
    .map((each) => createHandler(each, runtime.options.defaults, runtime.owner));
}

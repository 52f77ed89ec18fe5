import { Logger } from '@nestjs/common';
import { ContextIdFactory, ModuleRef } from '@nestjs/core';
import type { QueryRunner } from 'typeorm';
import { isObservable, lastValueFrom } from 'rxjs';
import type { Handler, JobControl } from '../claimer/worker-context.js';
import { ClaimLost, InvalidEntrypointError, JobTimeout } from '../domain/errors.js';
import type { Job } from '../domain/job.js';
import type { ManagerOwner } from '../sql/manager.js';
import { resolveRun, type RunPolicy } from '../options.js';
import type { FoundEntrypoint } from './entrypoint.explorer.js';
import { HandlerContext, type HandlerGround } from './handler-context.js';
import type { JobContext } from './job-context.js';

type Instance = Record<string, (job: Job, context: JobContext) => unknown>;

/** What runs around a handler, made once for each. It calls `next`, or not, and what it returns is the result. */
export type Middleware = (next: Handler['run'], entrypoint: string) => Handler['run'];

/**
 * Makes what a worker calls from a method that was found.
 * @param middleware the first is the outermost. Without any the method is called directly
 */
export function createHandler(
  found: FoundEntrypoint,
  defaults: RunPolicy,
  owner: ManagerOwner,
  middleware: readonly Middleware[] = [],
): Handler {
  const { name, options } = found;
  const ground = { logger: new Logger(name), owner };
  const call = caller(found);
  const own: Handler['run'] =
    options.transactional === true
      ? (job, control) => runInTransaction(call, job, { control, ground })
      : (job, control) => call(job, new HandlerContext(control, ground));
  const run = middleware.reduceRight((next, around) => around(next, name), own);
  return { entrypoint: name, ...resolveRun(options, defaults), run };
}

type Call = (job: Job, context: JobContext) => unknown;

function caller(found: FoundEntrypoint): Call {
  const instanceFor = instanceSource(found);
  const callOn = (instance: Instance, job: Job, context: JobContext): unknown => {
    const result = methodOf(instance, found).call(instance, job, context);
    return isThenable(result) ? Promise.resolve(result).then(valueOf) : valueOf(result);
  };
  return (job, context) => {
    const instance = instanceFor(job);
    return instance instanceof Promise
      ? instance.then((own: Instance) => callOn(own, job, context))
      : callOn(instance, job, context);
  };
}

function isThenable(value: unknown): boolean {
  return typeof (value as { then?: unknown } | undefined | null)?.then === 'function';
}

function valueOf(result: unknown): unknown {
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}

interface Surroundings {
  readonly control: JobControl;
  readonly ground: HandlerGround;
}

// The end of the attempt is the last statement, so that the job's row is locked for a moment only.
async function runInTransaction(call: Call, job: Job, { control, ground }: Surroundings): Promise<unknown> {
  const runner = ground.owner.dataSource.createQueryRunner();
  const { signal } = control;
  const onAbort = () => void giveUp(runner, signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    await runner.startTransaction();
    const context = new HandlerContext(control, ground, runner.manager);
    const result = await call(job, context);
    await context.completeWith(runner.manager, result);
    await runner.commitTransaction();
    return result;
  } catch (error) {
    await undo(runner);
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    if (!runner.isReleased) await runner.release();
  }
}

/** Its locks would keep the next attempt waiting, while the handler goes on. What that still asks of it is refused. */
async function giveUp(runner: QueryRunner, reason: unknown): Promise<void> {
  if (!(reason instanceof JobTimeout || reason instanceof ClaimLost)) return;
  await undo(runner);
  if (!runner.isReleased) await runner.release();
}

async function undo(runner: QueryRunner): Promise<void> {
  if (runner.isReleased || !runner.isTransactionActive) return;
  await runner.rollbackTransaction().catch(() => undefined); // the connection has broken, and with it the transaction
}

// A field of a subclass hides the method, and what has no method would count as done.
function methodOf(instance: Instance, { methodName, label }: FoundEntrypoint): Instance[string] {
  const method = instance[methodName];
  if (typeof method === 'function') return method;
  throw new InvalidEntrypointError(`The handler ${label} is hidden by a property of its name. Remove the property`);
}

/** Where the instance comes from: a singleton is there, one of request or transient scope is made for each job. */
function instanceSource(found: FoundEntrypoint): (job: Job) => Instance | Promise<Instance> {
  const { wrapper, label } = found;
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) {
    const instance = wrapper.instance as Instance;
    methodOf(instance, found);
    return () => instance;
  }
  const moduleRef = wrapper.host?.getProviderByKey<ModuleRef>(ModuleRef).instance;
  if (moduleRef === undefined || wrapper.host?.controllers.has(wrapper.token) === true) {
    throw new InvalidEntrypointError(
      `The handler ${label} is in a controller of request scope, which Nest makes for HTTP requests only. Move it to a provider`,
    );
  }
  return (job) => {
    const contextId = ContextIdFactory.getByRequest(job);
    moduleRef.registerRequestByContextId(job, contextId);
    return moduleRef.resolve<Instance>(wrapper.token as string, contextId, { strict: true });
  };
}

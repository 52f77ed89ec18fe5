import 'reflect-metadata';
import { InvalidEntrypointError } from '../domain/errors.js';
import type { Job } from '../domain/job.js';
import { boolean, fields, string } from '../options-checks.js';
import { RUN_CHECKS, type RunOptions } from '../options.js';
import type { JobContext } from './job-context.js';

/** How the jobs of one entrypoint are run. */
export interface EntrypointOptions extends RunOptions {
  /**
   * Runs the handler in a transaction of the queue's DataSource, with `context.manager`. The transaction also carries the end of the
   * attempt, so what the handler writes there happens exactly once, whatever crashes. It holds a connection of the application's
   * pool while the handler runs. @default false
   */
  transactional?: boolean | undefined;
  /** The named queue whose jobs it handles. @default the default queue */
  queue?: string | undefined;
}

/** The name of an entrypoint, or a function that is called once at start: names from configuration, or of this host. */
export type EntrypointName = string | (() => string);

/** Goes on methods that can take `(job, context)`. */
export type EntrypointDecorator = <Handler extends (job: Job<never>, context: JobContext) => unknown>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler>,
) => void;

/** What the decorator leaves on a class, for the explorer. */
export interface EntrypointMark {
  readonly name: EntrypointName;
  readonly methodName: string;
  readonly options: EntrypointOptions;
}

const checkOptions = fields<EntrypointOptions>({ ...RUN_CHECKS, transactional: boolean, queue: string });

const KEY = 'nestjs-pgqueue:entrypoints';

/**
 * Makes a method of a provider or a controller the handler of all jobs of that name. It gets `(job, context)`. When it returns,
 * its promise resolves or its Observable completes, the job is done; when one of these fails, the job is tried again as `retry`
 * says, and then held as `failed`.
 * A job may run more than once (a crash, a lost connection), so make it idempotent.
 * @throws InvalidEntrypointError where it can't work; InvalidOptionError
 */
export function Entrypoint(name: EntrypointName, given: EntrypointOptions = {}): EntrypointDecorator {
  return (target: object, key: string | symbol, descriptor?: PropertyDescriptor) => {
    const methodName = checkMethod(target, key, descriptor);
    const options = checkOptions(given, `@Entrypoint() on ${target.constructor.name}.${methodName}: options`);
    const marks = ownMarks(target);
    Reflect.defineMetadata(KEY, [...marks, { name, methodName, options }], target);
  };
}

/** The marks of a class and of those that it extends. A method that a subclass marks anew has only its new marks. */
export function entrypointMarks(prototype: object): EntrypointMark[] {
  const marks: EntrypointMark[] = [];
  for (let each: object | null = prototype; each !== null; each = Object.getPrototypeOf(each) as object | null) {
    const seen = new Set(marks.map(({ methodName }) => methodName));
    marks.push(...ownMarks(each).filter(({ methodName }) => !seen.has(methodName)));
  }
  return marks;
}

// On the class and not on the function, where a decorator that wraps the method would hide it.
function ownMarks(target: object): readonly EntrypointMark[] {
  return (Reflect.getOwnMetadata(KEY, target) as EntrypointMark[] | undefined) ?? [];
}

function checkMethod(target: object, key: string | symbol, descriptor: PropertyDescriptor | undefined): string {
  const owner = typeof target === 'function' ? target.name : target.constructor.name;
  const refuse = (what: string) =>
    new InvalidEntrypointError(`@Entrypoint() on ${owner}.${String(key)}: ${what}. Put it on an ordinary method`);
  if (typeof target === 'function') throw refuse('it is static, and no instance of Nest has it');
  if (typeof key === 'symbol') throw refuse('its name is a symbol');
  if (descriptor?.get !== undefined || descriptor?.set !== undefined) throw refuse('it is an accessor');
  if (typeof descriptor?.value !== 'function') throw refuse('it is a property');
  if (Object.prototype.toString.call(descriptor.value).includes('Generator'))
    throw refuse('it is a generator, whose body nobody would run');
  return key;
}

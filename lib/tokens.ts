import type { InjectionToken } from '@nestjs/common';

/**
 * A public class as an interface for its users and a token for Nest. The package exists as a CommonJS and an ESM build, which
 * can meet in one process; each token is made once for both.
 */
export type PublicToken<T> = (abstract new () => T) & { prototype: T };

const REGISTRY = Symbol.for('nestjs-pgqueue/tokens@1');

type Registry = Record<string, PublicToken<unknown> | undefined>;

export function publicToken<T>(name: string): PublicToken<T> {
  const global = globalThis as { [REGISTRY]?: Registry };
  const registry = (global[REGISTRY] ??= {});
  const named = { [name]: class {} };
  return (registry[name] ??= named[name] as PublicToken<unknown>) as PublicToken<T>;
}

/** The name of the queue of a `PgQueueModule` that was given none. */
export const DEFAULT_QUEUE = 'default';

/**
 * The options of a queue, as the module was given them.
 * Each `PgQueueModule` provides its own under this token.
 */
export const PG_QUEUE_OPTIONS = Symbol.for('nestjs-pgqueue/options@1');

/** The token under which a named queue provides `cls`; for the default queue that is the class itself. */
export function getPgQueueToken<T>(cls: PublicToken<T>, name: string = DEFAULT_QUEUE): InjectionToken<T> {
  return name === DEFAULT_QUEUE ? cls : `nestjs-pgqueue/${cls.name}/${name}`;
}

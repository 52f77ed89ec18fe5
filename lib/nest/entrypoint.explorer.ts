import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { checkEntrypointName } from '../domain/entrypoint-name.js';
import { InvalidEntrypointError } from '../domain/errors.js';
import { DEFAULT_QUEUE } from '../tokens.js';
import {
  entrypointMarks,
  type EntrypointMark,
  type EntrypointName,
  type EntrypointOptions,
} from './entrypoint.decorator.js';

export type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A handler method that was found in the application. */
export interface FoundEntrypoint {
  readonly queue: string;
  readonly name: string;
  readonly options: EntrypointOptions;
  readonly methodName: string;
  readonly wrapper: InstanceWrapper;
  /** `Receipts.send (in ShopModule)` */
  readonly label: string;
}

/** Finds the handlers among all providers and controllers. */
@Injectable()
export class EntrypointExplorer {
  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws InvalidEntrypointError when two handlers of a queue share a name */
  explore(): FoundEntrypoint[] {
    const wrappers = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    const found = distinctInstances(wrappers).flatMap((wrapper) => foundIn(wrapper));
    refuseDuplicates(found);
    return found;
  }
}

// An alias (useExisting) is the same provider under another token, though of transient scope another instance; a factory may
// hand on an instance that it was given.
function distinctInstances(wrappers: readonly InstanceWrapper[]): InstanceWrapper[] {
  const seen = new Set<unknown>();
  return wrappers.filter((wrapper) => {
    if (wrapper.isAlias) return false;
    const identity: unknown = isObject(wrapper.instance) ? wrapper.instance : wrapper;
    return !seen.has(identity) && seen.add(identity);
  });
}

function foundIn(wrapper: InstanceWrapper): FoundEntrypoint[] {
  const prototype = prototypeOf(wrapper);
  return prototype === undefined ? [] : entrypointMarks(prototype).map((mark) => toFound(wrapper, prototype, mark));
}

/** What the marks hang on. A factory that makes its instance for each request has made none yet. */
function prototypeOf({ instance, metatype, inject }: InstanceWrapper): object | undefined {
  if (isObject(instance)) return (Object.getPrototypeOf(instance) as object | null) ?? undefined;
  return typeof metatype === 'function' && !inject ? (metatype.prototype as object) : undefined;
}

function toFound(
  wrapper: InstanceWrapper,
  prototype: object,
  { name, methodName, options }: EntrypointMark,
): FoundEntrypoint {
  const method = `${prototype.constructor.name}.${methodName}`;
  return {
    queue: options.queue ?? DEFAULT_QUEUE,
    name: checkEntrypointName(nameOf(name, method), `The name in @Entrypoint() on ${method}`),
    options,
    methodName,
    wrapper,
    label: `${method} (in ${wrapper.host?.name ?? 'an unknown module'})`,
  };
}

function nameOf(name: EntrypointName, method: string): string {
  if (typeof name !== 'function') return name;
  try {
    return name();
  } catch (cause) {
    throw new InvalidEntrypointError(`The function in @Entrypoint() on ${method} failed: ${String(cause)}`, { cause });
  }
}

function refuseDuplicates(found: readonly FoundEntrypoint[]): void {
  const labels = new Map<string, string>();
  for (const { queue, name, label } of found) {
    const key = JSON.stringify([queue, name]);
    const other = labels.get(key);
    if (other !== undefined) {
      throw new InvalidEntrypointError(
        `Entrypoint '${name}' has two handlers: ${other} and ${label}. Rename or remove one`,
      );
    }
    labels.set(key, label);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

import { Worker } from '../../../lib/claimer/worker.js';
import { deferred } from '../../support/index.js';

type Method = 'start' | 'stop';

const original: Record<Method, (this: Worker) => unknown> = {
  start: Worker.prototype.start,
  stop: Worker.prototype.stop,
};

/** Tells when a worker is started or stopped, before it is. `jest.restoreAllMocks()` ends it. */
export function onWorker(method: Method, tell: () => void): void {
  jest.spyOn(Worker.prototype, method).mockImplementation(function (this: Worker): never {
    tell();
    return original[method].call(this) as never;
  });
}

/** Resolves when a worker begins to stop. */
export function workerStops(): Promise<void> {
  const stops = deferred();
  onWorker('stop', stops.resolve);
  return stops.promise;
}

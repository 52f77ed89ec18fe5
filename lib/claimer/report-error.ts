import { isTransient } from '../sql/transient.js';
import type { WorkerContext } from './worker-context.js';
import type { WorkerTask } from './worker-event.js';

/** Tells what failed and will be tried again. Returns whether it passes by itself. */
export function reportError({ observe }: WorkerContext, task: WorkerTask, error: unknown): boolean {
  const transient = isTransient(error);
  observe({ type: 'error', task, error, transient });
  return transient;
}

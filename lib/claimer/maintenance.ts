import { dissolveClaims } from '../sql/dissolve.js';
import type { WorkerContext } from './worker-context.js';

/** Takes back the jobs of workers that are gone, of whatever entrypoint. `own`: the claims of this one, which is alive. */
export async function dissolve(
  { db, names, options, observe }: WorkerContext,
  onFreed: () => void,
  own: readonly string[] = [],
): Promise<void> {
  const jobs = await dissolveClaims(db, names, { ...options, except: own });
  if (jobs.length === 0) return;
  observe({ type: 'dissolved', jobs });
  onFreed();
}

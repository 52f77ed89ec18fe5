import { dissolveClaims } from '../sql/claims.js';
import { Ticker } from './ticker.js';
import { BEATS_PER_TIMEOUT } from './heartbeat.js';
import type { WorkerContext } from './worker-context.js';

/** Takes back the jobs of workers that are gone, of whatever entrypoint. */
export function createMaintenance(context: WorkerContext, onFreed: () => void): Ticker {
  const { db, names, options, observe } = context;
  const { heartbeatTimeout, pollInterval, notify } = options;
  return new Ticker(Math.min(heartbeatTimeout / BEATS_PER_TIMEOUT, pollInterval), async () => {
    try {
      const jobs = await dissolveClaims(db, names, { heartbeatTimeout, notify });
      if (jobs.length === 0) return;
      observe({ type: 'dissolved', jobs });
      onFreed();
    } catch (error) {
      observe({ type: 'error', task: 'dissolve', error });
    }
  });
}

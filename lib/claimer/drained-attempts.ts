import type { Outcome } from '../domain/outcome.js';
import type { WorkerEvent, WorkerObserver } from './worker-event.js';

export interface DrainedAttempt {
  readonly id: string;
  readonly entrypoint: string;
  readonly attempt: number;
  readonly status: Outcome['type'] | 'lost';
  readonly error?: string;
}

type Ended = Extract<WorkerEvent, { type: 'ended' }>;

/** Gathers what became of each attempt, from what a worker tells. */
export function collectAttempts(): { attempts: DrainedAttempt[]; observe: WorkerObserver } {
  const attempts: DrainedAttempt[] = [];
  const ended = new Map<string, Ended>();
  const add = (ids: readonly string[], lost: boolean) => {
    for (const id of ids) {
      const event = ended.get(id);
      if (event !== undefined) attempts.push(describe(event, lost));
    }
  };
  const observe: WorkerObserver = (event) => {
    if (event.type === 'ended') ended.set(event.job.id, event);
    if (event.type === 'settled') add(event.ids, false);
    if (event.type === 'refused') add(event.ids, true);
  };
  return { attempts, observe };
}

function describe({ job, outcome }: Ended, lost: boolean): DrainedAttempt {
  const { id, entrypoint, attempt } = job;
  const error = 'error' in outcome ? { error: outcome.error.message } : {};
  return { id, entrypoint, attempt, status: lost ? 'lost' : outcome.type, ...error };
}

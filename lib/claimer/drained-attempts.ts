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

/** Gathers what became of each attempt, in the order in which they ended, from what a worker tells. */
export function collectAttempts(): { attempts: () => DrainedAttempt[]; observe: WorkerObserver } {
  const ended: Ended[] = [];
  const unsettled = new Map<string, Ended[]>();
  const written = new Set<Ended>();
  const begin = (event: Ended) => {
    ended.push(event);
    unsettled.set(event.job.id, [...(unsettled.get(event.job.id) ?? []), event]);
  };
  // A job whose claim was lost can run twice here at once. The latest attempt is the one that counts.
  const observe: WorkerObserver = (event) => {
    if (event.type === 'ended') begin(event);
    if (event.type === 'refused') for (const id of event.ids) unsettled.get(id)?.shift();
    if (event.type !== 'settled') return;
    for (const last of event.ids.map((id) => unsettled.get(id)?.pop())) if (last !== undefined) written.add(last);
  };
  return { attempts: () => ended.map((event) => describe(event, written.has(event))), observe };
}

function describe({ job, outcome }: Ended, written: boolean): DrainedAttempt {
  const { id, entrypoint, attempt } = job;
  const error = 'error' in outcome ? { error: outcome.error.message } : {};
  return { id, entrypoint, attempt, status: written ? outcome.type : 'lost', ...error };
}

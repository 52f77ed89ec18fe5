import type { RecordedOutcome } from '../domain/outcome.js';
import type { WorkerEvent, WorkerObserver } from './worker-event.js';

export interface DrainedAttempt {
  readonly id: string;
  readonly entrypoint: string;
  readonly attempt: number;
  readonly status: RecordedOutcome | 'lost';
  readonly error?: string;
}

type Ended = Extract<WorkerEvent, { type: 'ended' }>;

/** Gathers what became of each attempt, in the order in which they ended, from what a worker tells. */
export function collectAttempts(): { attempts: () => DrainedAttempt[]; observe: WorkerObserver } {
  const ended: Ended[] = [];
  const unsettled = new Map<string, Ended[]>();
  const written = new Map<Ended, RecordedOutcome>();
  const begin = (event: Ended) => {
    ended.push(event);
    unsettled.set(event.job.id, [...(unsettled.get(event.job.id) ?? []), event]);
  };
  // A job whose claim was lost can run twice here at once. The latest attempt is the one that counts.
  const observe: WorkerObserver = (event) => {
    if (event.type === 'ended') begin(event);
    if (event.type === 'refused') for (const id of event.ids) unsettled.get(id)?.shift();
    if (event.type !== 'settled') return;
    for (const [index, id] of event.ids.entries()) {
      const last = unsettled.get(id)?.pop();
      const outcome = event.outcomes[index];
      if (last !== undefined && outcome !== undefined) written.set(last, outcome);
    }
  };
  return { attempts: () => ended.map((event) => describe(event, written.get(event))), observe };
}

function describe({ job, outcome }: Ended, status: RecordedOutcome | undefined): DrainedAttempt {
  const { id, entrypoint, attempt } = job;
  const error = 'error' in outcome ? { error: outcome.error.message } : {};
  return { id, entrypoint, attempt, status: status ?? 'lost', ...error };
}

import type { CancelResult, RemoveResult, RequeueResult } from '../../../lib/client/admin.js';
import { type Action, anyFew, chosenFew } from '../action.js';
import type { Model, ModelJob } from '../model.js';

/** An operator's action on jobs, of which some may have ended. A locked one would be waited for. */
const onJobs = { choices: anyFew, plan: planJobs };

function planJobs(model: Model, choices: number[]): string[] | undefined {
  const isFailed = (id: string) => model.jobs.get(id)?.status === 'failed';
  const ids = chosenFew([...model.ids.filter((id) => !isFailed(id)), ...model.ids.filter(isFailed)], choices);
  return ids.length === 0 || ids.some((id) => model.isLocked(id)) ? undefined : ids;
}

const idsOf = (jobs: readonly ModelJob[]) => jobs.map(({ id }) => id);
const existing = ({ jobs }: Model, ids: readonly string[]) =>
  ids.flatMap((id) => (jobs.has(id) ? [jobs.get(id)!] : []));

export const cancel: Action<number[], string[], CancelResult> = {
  ...onJobs,
  name: 'cancel',
  weight: 2,
  perform: ({ admin }, ids) => admin.cancel(ids),
  apply: (model, ids) => {
    const jobs = existing(model, ids);
    const canceled = jobs.filter(({ status }) => status !== 'picked');
    const requested = jobs.filter(({ status, cancelRequested }) => status === 'picked' && !cancelRequested);
    end(model, canceled, 'canceled');
    for (const job of requested) job.cancelRequested = true;
    return { canceled: idsOf(canceled), requested: idsOf(requested) };
  },
  kinds: (_, { canceled, requested }) => [...canceled.map(() => 'at once'), ...requested.map(() => 'requested')],
};

export const remove: Action<number[], string[], RemoveResult> = {
  ...onJobs,
  name: 'remove',
  weight: 1,
  perform: ({ admin }, ids) => admin.remove(ids),
  apply: (model, ids) => {
    const jobs = existing(model, ids);
    const removed = jobs.filter(({ status }) => status !== 'picked');
    end(model, removed, 'deleted');
    return { removed: idsOf(removed), running: idsOf(jobs.filter(({ status }) => status === 'picked')) };
  },
};

export const requeue: Action<number[], string[], RequeueResult> = {
  ...onJobs,
  name: 'requeue',
  weight: 6,
  perform: ({ admin }, ids) => admin.requeue(ids),
  apply: (model, ids) => {
    const failed = existing(model, ids).filter(({ status }) => status === 'failed');
    const conflicts = failed.filter((job) => {
      const { entrypoint, dedupeKey } = job;
      if (dedupeKey !== null && model.holderOf(entrypoint, dedupeKey) !== undefined) return true;
      Object.assign(job, { status: 'queued', wait: 'ready', attempt: 0, losses: 0, runAt: model.hour });
      return false;
    });
    return { requeued: idsOf(failed.filter((job) => !conflicts.includes(job))), conflicts: idsOf(conflicts) };
  },
  kinds: (_, { requeued, conflicts }) => [...requeued.map(() => 'done'), ...conflicts.map(() => 'conflict')],
};

export function end(model: Model, jobs: readonly ModelJob[], status: 'canceled' | 'deleted'): void {
  for (const job of jobs) {
    model.record(job, status);
    model.jobs.delete(job.id);
  }
}

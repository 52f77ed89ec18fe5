import fc from 'fast-check';
import type { ClearFilter } from '../../../lib/client/admin.js';
import { type Action, anyEntrypoint } from '../action.js';
import { end } from './operate.js';

export const clear: Action<ClearFilter, ClearFilter, number> = {
  name: 'clear',
  weight: 1,
  choices: fc.record({ status: fc.constantFrom('queued', 'failed'), entrypoint: anyEntrypoint }, { requiredKeys: [] }),
  plan: (_, filter) => filter,
  perform: ({ admin }, filter) => admin.clear(filter),
  apply: (model, { status, entrypoint }) => {
    const cleared = [...model.jobs.values()].filter(
      (job) =>
        job.status !== 'picked' &&
        job.status === (status ?? job.status) &&
        job.entrypoint === (entrypoint ?? job.entrypoint) &&
        !model.isLocked(job.id),
    );
    end(model, cleared, 'deleted');
    return cleared.length;
  },
};

import { type Action, anyEntrypoint } from '../action.js';

export const pause: Action<string, string, boolean> = {
  name: 'pause',
  weight: 1,
  choices: anyEntrypoint,
  plan: (_, entrypoint) => entrypoint,
  perform: ({ admin }, entrypoint) => admin.pause(entrypoint),
  apply: ({ paused }, entrypoint) => paused.size < paused.add(entrypoint).size,
};

export const resume: Action<string, string, boolean> = {
  name: 'resume',
  weight: 2,
  choices: anyEntrypoint,
  plan: (_, entrypoint) => entrypoint,
  perform: ({ admin }, entrypoint) => admin.resume(entrypoint),
  apply: ({ paused }, entrypoint) => paused.delete(entrypoint),
};

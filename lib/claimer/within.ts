import { pause } from './bell.js';

/** Resolves when `work` does, or after `ms`, whichever is first. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, pause(ms, done.signal)]).finally(() => done.abort());
}

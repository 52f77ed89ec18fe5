import { pause } from './bell.js';

/** Resolves when `work` does, after `ms`, or when the signal aborts, whichever is first. */
export async function within(ms: number, work: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  const done = new AbortController();
  const over = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
  await Promise.race([work, pause(ms, over)]).finally(() => done.abort());
}

import { pause } from './bell.js';

/** Resolves when `work` does, after `ms`, or when the signal aborts, whichever is first. Tells whether it was the work. */
export async function within(ms: number, work: Promise<unknown>, signal?: AbortSignal): Promise<boolean> {
  const done = new AbortController();
  const over = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
  const won = Promise.race([work.then(() => true), pause(ms, over).then(() => false)]);
  return won.finally(() => done.abort());
}

import { Reaper } from '../../lib/claimer/reaper.js';
import type { WorkerContext } from '../../lib/claimer/worker-context.js';
import { names } from '../support/index.js';

/** Of a database in which `reaped` are the claims that can be removed. */
function reaperOf(reaped: readonly string[], signal: AbortSignal) {
  const asked: unknown[] = [];
  const query = (_: string, [claimIds]: readonly unknown[] = []) => {
    asked.push(claimIds);
    return Promise.resolve(reaped.map((id) => ({ claim_id: id })));
  };
  const db = { query, transaction: () => Promise.reject(new Error('not needed')) };
  const context = { db, names, observe: () => undefined } as unknown as WorkerContext;
  return { reaper: new Reaper(context, signal), asked };
}

describe('a reaper', () => {
  it('is busy until all claims are removed', async () => {
    const { reaper, asked } = reaperOf(['a', 'b'], new AbortController().signal);
    reaper.add(['a', 'b']);
    await reaper.busy;
    expect(reaper.busy).toBeUndefined();
    expect(asked).toEqual([['a', 'b']]);
  });

  it('does not ask for what a settle has removed in the meantime', async () => {
    const { reaper, asked } = reaperOf(['b'], new AbortController().signal);
    reaper.add(['a', 'b']);
    expect(reaper.ended).toEqual(['a', 'b']);
    reaper.removed(['a']);
    expect(reaper.ended).toEqual(['b']);
    await reaper.busy;
    expect(asked).toEqual([['b']]);
    expect(reaper.ended).toEqual([]);
  });

  it('leaves them for a second to the next settle, unless somebody waits for it', async () => {
    jest.useFakeTimers();
    const { reaper, asked } = reaperOf(['a'], new AbortController().signal);
    reaper.add(['a']);
    await jest.advanceTimersByTimeAsync(999);
    expect(asked).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([['a']]);
    reaper.add(['a']);
    await reaper.busy;
    expect(asked).toEqual([['a'], ['a']]);
    jest.useRealTimers();
  });

  it('gives up what stays locked', async () => {
    const { reaper, asked } = reaperOf([], new AbortController().signal);
    reaper.add(['a']);
    await reaper.busy;
    expect(reaper.busy).toBeUndefined();
    expect(asked.length).toBeGreaterThan(5);
  });

  it('asks for those that came while it asked for the last time for what stays locked', async () => {
    const { reaper, asked } = reaperOf([], new AbortController().signal);
    reaper.add(['a']);
    const first = reaper.busy;
    while (asked.length < 10) await new Promise((resolve) => setImmediate(resolve));
    reaper.add(['b']);
    await first;
    expect(reaper.ended).toEqual(['b']);
    await reaper.busy;
    expect(asked.at(-1)).toEqual(['b']);
  });

  it('ends at once when all is abandoned, also when that was before it began', async () => {
    const { reaper, asked } = reaperOf([], AbortSignal.abort());
    reaper.add(['a']);
    await reaper.busy;
    expect(reaper.busy).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

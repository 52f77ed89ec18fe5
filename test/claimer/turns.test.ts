import { Turns } from '../../lib/waiting/turns.js';
import { deferred, eventually } from '../support/index.js';

describe('turns', () => {
  it('let one work at a time, in the order in which they came, whatever becomes of those before', async () => {
    const turns = new Turns(60_000);
    const [first, second] = [deferred<string>(), deferred<string>()];
    const begun: string[] = [];
    const take = (name: string, work: () => Promise<string>) => turns.take(() => (begun.push(name), work()));
    const results = [
      take('first', () => first.promise),
      take('second', () => second.promise),
      take('third', () => Promise.resolve('3')),
    ];
    await turnOfTheLoop();
    expect(begun).toEqual(['first']);
    first.reject(new Error('lost'));
    await expect(results[0]).rejects.toThrow('lost');
    await turnOfTheLoop();
    expect(begun).toEqual(['first', 'second']);
    second.resolve('2');
    expect(await Promise.all(results.slice(1))).toEqual(['2', '3']);
    expect(begun).toEqual(['first', 'second', 'third']);
  });

  it('are shared with the next one by who takes too long', async () => {
    const turns = new Turns(100);
    const begun: string[] = [];
    const take = (name: string) => void turns.take(() => (begun.push(name), new Promise(() => undefined)));
    const startedAt = performance.now();
    for (const name of ['first', 'second', 'third']) take(name);
    await eventually(() => expect(begun).toEqual(['first', 'second']));
    expect(performance.now() - startedAt).toBeGreaterThan(99);
    await eventually(() => expect(begun).toEqual(['first', 'second', 'third']));
    expect(performance.now() - startedAt).toBeGreaterThan(199);
  });
});

const turnOfTheLoop = () => new Promise((resolve) => setImmediate(resolve));

import { createContext, runInContext } from 'node:vm';
import { recordError } from '../../lib/domain/outcome.js';

describe('the record of what a handler threw', () => {
  it('has the name, the message and the stack of an error', () => {
    const error = new TypeError('no such order');
    expect(recordError(error)).toEqual({ message: 'TypeError: no such order', stack: error.stack });
  });

  it('has the stacks of the causes, as deep as the fifth', () => {
    const errors = ['a', 'b', 'c', 'd', 'e', 'f'].reverse();
    const outermost = errors.reduce<unknown>((cause, message) => new Error(message, { cause }), undefined);
    const { stack } = recordError(outermost);
    expect(stack?.match(/Error: [a-f]$/gm)).toEqual(['Error: a', 'Error: b', 'Error: c', 'Error: d', 'Error: e']);
    expect(stack?.match(/^Caused by: /gm)).toHaveLength(4);
  });

  it('has a cause that is no error', () => {
    expect(recordError(new Error('a', { cause: { status: 503 } })).stack).toMatch(/Caused by: {"status":503}$/);
  });

  it('ends although a cause leads back to its error', () => {
    const error = new Error('a');
    error.cause = error;
    expect(recordError(error).stack?.match(/Error: a$/gm)).toHaveLength(5);
  });

  it('takes an error of another realm for one', () => {
    const foreign: unknown = runInContext(`new RangeError('far away')`, createContext());
    expect(foreign).not.toBeInstanceOf(Error);
    expect(recordError(foreign)).toEqual({
      message: 'RangeError: far away',
      stack: expect.stringContaining('far away'),
    });
  });

  it.each<[string, unknown, string]>([
    ['a string', 'out of paper', 'out of paper'],
    ['a number', 404, '404'],
    ['a bigint', 9_007_199_254_740_993n, '9007199254740993'],
    ['a symbol', Symbol('stop'), 'Symbol(stop)'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object', { status: 503 }, '{"status":503}'],
    ['an array', [1, 2], '[1,2]'],
    ['a function', Math.max, 'function max() { [native code] }'],
  ])('shows %s', (_, thrown, message) => {
    expect(recordError(thrown)).toEqual({ message, stack: null });
  });

  it.each<[string, unknown]>([
    ['a circle', circle()],
    ['an object that holds a bigint', { id: 1n }],
    [
      'an object whose getters throw',
      {
        name: 'E',
        get message(): string {
          throw new Error('gotcha');
        },
      },
    ],
    ['a proxy that refuses everything', new Proxy({}, { has: refuse, get: refuse, getPrototypeOf: refuse })],
    ['an object without a prototype', Object.create(null)],
    ['an error whose message is no string', Object.assign(new Error(), { message: Symbol('m') })],
    ['an object whose toJSON gives nothing', { toJSON: () => undefined }],
  ])('has something to say of %s', (_, thrown) => {
    expect(recordError(thrown)).toEqual({ message: expect.stringMatching(/./), stack: null });
  });

  it('has a bounded size', () => {
    const { message, stack } = recordError(Object.assign(new Error('m'.repeat(1e6)), { stack: 's'.repeat(1e6) }));
    expect(message.length).toBeLessThanOrEqual(8_193);
    expect(stack?.length).toBeLessThanOrEqual(65_537);
  });

  it('has no U+0000, which PostgreSQL refuses', () => {
    const { message, stack } = recordError(new Error('a\0b'));
    expect(message).toBe('Error: a\u2400b');
    expect(stack).not.toContain('\0');
  });
});

function circle(): unknown {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}

function refuse(): never {
  throw new Error('refused');
}

import fc from 'fast-check';
import { isShallow, JSON_LEVELS } from '../../lib/domain/json.js';

const nested = (levels: number, inner = '') => '['.repeat(levels) + inner + ']'.repeat(levels);
const objects = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
// Long enough that it has to be looked at.
const padded = (json: string) => `[${json},${JSON.stringify('x'.repeat(3_000))}]`;

describe('isShallow', () => {
  it.each([
    ['arrays', nested],
    ['objects', objects],
    ['arrays in objects', (levels: number) => `{"a":${nested(levels - 1, '1')}}`],
  ])(`is true up to ${JSON_LEVELS} levels of %s, and not beyond`, (_, build) => {
    expect([build(JSON_LEVELS), build(JSON_LEVELS + 1), build(20_000)].map(isShallow)).toEqual([true, false, false]);
  });

  it('counts levels, and not brackets', () => {
    expect(isShallow(`[${Array(5_000).fill('[[]]').join(',')}]`)).toBe(true);
    expect(isShallow(`[${Array(5_000).fill('{"a":{}}').join(',')},${nested(JSON_LEVELS)}]`)).toBe(false);
  });

  it.each([
    ['brackets', '['.repeat(5_000)],
    ['braces behind quotes', '"{'.repeat(5_000)],
    ['backslashes', '\\'.repeat(5_001)],
    ['quotes behind backslashes', '\\"['.repeat(5_000)],
    ['backslashes at the end', '['.repeat(3_000) + '\\\\'],
    ['nothing', ''],
  ])('overlooks strings: %s', (_, text) => {
    for (const value of [text, { [text]: text }, [text, text]])
      expect(isShallow(padded(JSON.stringify(value)))).toBe(true);
    expect(isShallow(`[${JSON.stringify(text)},${nested(JSON_LEVELS)}]`)).toBe(false);
  });

  it('agrees with the depth of any value that JSON can hold', () => {
    const depth = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: fc.constantFrom('[', '{', '"', '\\', ']', 'a') }),
        tie('list'),
        tie('object'),
      ),
      list: fc.array(tie('value')),
      object: fc.dictionary(fc.string(), tie('value')),
    }));
    fc.assert(
      fc.property(value, (each) => {
        const room = JSON_LEVELS - depth(each) - 1;
        const json = JSON.stringify(each);
        expect(isShallow(nested(room, padded(json)))).toBe(true);
        expect(isShallow(nested(room + 1, padded(json)))).toBe(depth(each) === 0 && false);
      }),
    );
  });

  it('takes a moment for 10 MiB of quotes and backslashes', () => {
    const json = JSON.stringify(['\\"'.repeat(2_500_000)]);
    const startedAt = performance.now();
    expect(isShallow(json)).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

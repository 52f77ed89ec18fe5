import { InvalidPayloadError } from 'nestjs-pgqueue';
import { useWorkerGround, type TestApp } from '../support/index.js';

const MB = 1_000_000;
// A busy machine is slow; what this is about took seconds, or the process.
const STALL = 1_500;

describe('a payload that is too large or too deep', () => {
  const ground = useWorkerGround();
  let app: TestApp;
  beforeEach(async () => (app = await ground.producer()));

  const nested = (levels: number) => {
    let value: unknown = [];
    for (let level = 1; level < levels; level++) value = level % 2 ? { value } : [value];
    return value;
  };

  it.each<[string, () => unknown]>([
    ['10 MB and some in a string', () => 'x'.repeat(11 * MB)],
    ['300 MB in a string', () => 'x'.repeat(300 * MB)],
    ['300 MB in an object', () => ({ file: 'x'.repeat(300 * MB) })],
    ['300 MB that have to be escaped', () => ({ file: '"'.repeat(300 * MB) })],
    ['300 MB in many strings', () => Array(300).fill('x'.repeat(MB))],
    ['300 MB in a Buffer', () => Buffer.alloc(300 * MB)],
    ['300 MB in a Buffer of an object', () => ({ files: [{ content: Buffer.alloc(300 * MB) }] })],
    ['300 MB in a Uint8Array', () => new Uint8Array(300 * MB)],
    ['an array with 300,000,000 holes', () => new Array(300 * MB)],
    ['1,001 levels', () => nested(1_001)],
    ['20,000 levels', () => nested(20_000)],
  ])('is refused with a typed error that says so, and without a long pause: %s', async (_, make) => {
    const payload = make();
    const startedAt = performance.now();
    const error: unknown = await app.queue.enqueue('work', payload).catch((thrown: unknown) => thrown);
    expect(performance.now() - startedAt).toBeLessThan(STALL);
    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect((error as Error).message).toMatch(/its payload (is .* and 10485760 is the most|nests)|stringify fails/);
    expect(await ground.database.query('select from pgqueue.job')).toEqual([]);
  });

  it.each([1, 10])('is none of %i MB', async (size) => {
    const { id } = await app.queue.enqueue('work', 'x'.repeat(size * MB));
    const rows = await ground.database.query('select length(payload::text) from pgqueue.job where id = $1', [id]);
    expect(rows).toEqual([{ length: size * MB + 2 }]);
  });

  it.each<[string, () => unknown, unknown]>([
    ['an array without an iterator', () => Object.assign([1, 2], { [Symbol.iterator]: undefined }), [1, 2]],
    [
      'large bytes that know how to be short',
      () => Object.assign(Buffer.alloc(6 * MB), { toJSON: () => 'short' }),
      'short',
    ],
    ['a large array that knows how to be short', () => Object.assign(new Array(6 * MB), { toJSON: () => 1 }), 1],
  ])('is what JSON.stringify makes of it: %s', async (_, make, expected) => {
    await app.queue.enqueue('work', make());
    expect(await ground.database.query('select payload from pgqueue.job')).toEqual([{ payload: expected }]);
  });

  it('is none of 1,000 levels', async () => {
    await app.queue.enqueue('work', nested(1_000), { headers: { deep: nested(999) } });
    await expect(app.queue.enqueue('work', 1, { headers: { deep: nested(1_000) } })).rejects.toThrow(
      /its headers nests/,
    );
  });
});

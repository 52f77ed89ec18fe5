import { InvalidPayloadError, type Job } from 'nestjs-pgqueue';
import {
  createTestDatabase,
  deferred,
  type Deferred,
  startApp,
  startWorker,
  type TestApp,
  type TestDatabase,
  type TestWorker,
} from '../support/index.js';

// Built at run time, so that no compiler or editor can touch them.
const NUL = String.fromCharCode(0);
const LONE_HIGH = String.fromCharCode(0xd83d);
const LONE_LOW = String.fromCharCode(0xde00);

class Money {
  constructor(private readonly cents: number) {}
  toJSON() {
    return { cents: this.cents };
  }
}

const circular: Record<string, unknown> = {};
circular['self'] = circular;

describe('the payload of a job', () => {
  let database: TestDatabase;
  let producer: TestApp;
  let worker: TestWorker;
  let next: Deferred<Job>;

  beforeAll(async () => {
    database = await createTestDatabase();
    producer = await startApp(database.url, {}, { worker: false });
    worker = await startWorker(database.url, { keep: (job) => next.resolve(job) });
  });
  beforeEach(() => (next = deferred()));
  afterAll(async () => {
    await worker.stop();
    await producer.close();
    await database.drop();
  });

  async function handled(payload: unknown, headers?: Record<string, unknown>): Promise<Job> {
    await producer.queue.enqueue('keep', payload, { headers });
    return next.promise;
  }

  it.each<[string, unknown]>([
    ['an empty array', []],
    ['an array of numbers', [1, 2]],
    ['a nested array', [[], [[]], {}]],
    ['a string', 'hello'],
    ['an empty string', ''],
    ['digits in a string', '123'],
    ['JSON in a string', '{"a":1}'],
    ['the word NULL', 'NULL'],
    ['syntax of an array of PostgreSQL', '{"a","b\\"}'],
    ['quotes, backslashes and line ends', `'"\\\r\n\t\u2028`],
    ['a number', 5],
    ['minus zero', -0],
    ['a number that JSON has not', NaN],
    ['the largest double', Number.MAX_VALUE],
    ['an integer beyond 2^53', 2 ** 63],
    ['true', true],
    ['false', false],
    ['null', null],
    ['a Date', new Date('2026-03-29T01:30:00.123Z')],
    ['a Buffer', Buffer.from([0, 255])],
    ['an instance with toJSON', new Money(499)],
    ['a Map', new Map([['a', 1]])],
    ['undefined in an array', [undefined, 1]],
    ['U+0000', `a${NUL}b`],
    ['U+0000 in a key', { [NUL]: NUL }],
    ['a lone high surrogate', LONE_HIGH],
    ['a lone low surrogate in a key', { [LONE_LOW]: 1 }],
    ['an emoji', '😀'],
    ['keys in their order, numeric ones too', { b: 1, a: 2, 10: 3, 9: 4 }],
    ['a megabyte', 'é'.repeat(500_000)],
    ['a thousand levels', JSON.parse('['.repeat(1_000) + ']'.repeat(1_000))],
  ])('reaches the handler as JSON brings it back: %s', async (_, payload) => {
    const { payload: seen } = await handled(payload);
    expect(seen).toStrictEqual(JSON.parse(JSON.stringify(payload)));
    expect(JSON.stringify(seen)).toBe(JSON.stringify(payload));
  });

  it('stays undefined when it is undefined, and is not null', async () => {
    expect((await handled(undefined)).payload).toBeUndefined();
    const { id } = await producer.queue.enqueue('unhandled', undefined);
    expect(await database.query('select payload::text from pgqueue.job where id = $1', [id])).toEqual([
      { payload: null },
    ]);
    next = deferred();
    await producer.queue.enqueue('keep');
    expect((await next.promise).payload).toBeUndefined();
  });

  it('keeps a key named __proto__ as an ordinary key', async () => {
    const payload: unknown = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}');
    const job = await handled(payload, payload as Record<string, unknown>);
    for (const seen of [job.payload, job.headers] as Record<string, unknown>[]) {
      expect(Object.keys(seen)).toEqual(['__proto__', 'constructor']);
      expect(seen['admin']).toBeUndefined();
      expect(Object.getPrototypeOf(seen)).toBe(Object.getPrototypeOf({}));
    }
  });

  it('may be left out of the headers, which are then empty, and does not leak into them', async () => {
    expect(await handled({ a: 1 })).toMatchObject({ payload: { a: 1 }, headers: {} });
    next = deferred();
    const headers = { [`tab\t${NUL}`]: LONE_LOW, at: new Date(0), none: undefined };
    expect((await handled(undefined, headers)).headers).toStrictEqual(JSON.parse(JSON.stringify(headers)));
  });

  it('is what it was when enqueue was called, whatever becomes of the object', async () => {
    const payload = { amount: 1 };
    const enqueued = producer.queue.enqueue('keep', payload);
    payload.amount = 2;
    await enqueued;
    expect((await next.promise).payload).toEqual({ amount: 1 });
  });

  it.each<[string, unknown, RegExp]>([
    ['a function', () => 1, /its payload is a function/],
    ['a symbol', Symbol('x'), /its payload is a symbol/],
    ['a BigInt', 1n, /BigInt/],
    ['a BigInt deep inside', { a: [{ b: 1n }] }, /BigInt/],
    ['a circular object', circular, /circular/],
    ['what toJSON makes undefined', { toJSON: () => undefined }, /JSON/],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('no');
        },
      },
      /no/,
    ],
    [
      'a toJSON that throws what has no string',
      {
        toJSON: () => {
          throw Object.create(null);
        },
      },
      /JSON/,
    ],
    [
      'a getter that throws',
      Object.defineProperty({}, 'a', {
        enumerable: true,
        get: () => {
          throw new TypeError('gone');
        },
      }),
      /gone/,
    ],
  ])('is refused with a typed error, and nothing is stored: %s', async (_, payload, message) => {
    const jobs = [{ entrypoint: 'refused' }, { entrypoint: 'refused', payload }];
    for (const attempt of [() => producer.queue.enqueue('refused', payload), () => producer.queue.enqueueMany(jobs)]) {
      const error: unknown = await attempt().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InvalidPayloadError);
      expect(error).toMatchObject({ code: 'PGQUEUE_INVALID_PAYLOAD', message: expect.stringMatching(message) });
      expect((error as Error).message).toContain(`'refused'`);
    }
    expect(await database.query(`select from pgqueue.job where entrypoint = 'refused'`)).toEqual([]);
  });

  it.each([{ a: 1n }, { toJSON: () => undefined }])('of headers is refused alike', async (headers) => {
    await expect(producer.queue.enqueue('refused', 1, { headers })).rejects.toThrow(/its headers/);
  });
});

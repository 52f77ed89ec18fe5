import { type EnqueueOptions, InvalidOptionError } from 'nestjs-pgqueue';
import { createTestDatabase, startApp, type TestApp, type TestDatabase } from '../support/index.js';

const LONE = String.fromCharCode(0xd83d);

describe('the options of a job', () => {
  let database: TestDatabase;
  let producer: TestApp;
  let queries: jest.SpyInstance;
  beforeAll(async () => {
    database = await createTestDatabase();
    producer = await startApp(database.url, {}, { worker: false });
    const pool = (producer.dataSource.driver as unknown as { master: { query: () => unknown } }).master;
    queries = jest.spyOn(pool, 'query');
  });
  beforeEach(() => queries.mockClear());
  afterAll(async () => {
    await producer.close();
    await database.drop();
  });

  async function expectRefusal(attempt: () => Promise<unknown>, option: string, value: unknown) {
    const error: unknown = await attempt().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({ code: 'PGQUEUE_INVALID_OPTION', option, value });
    expect((error as Error).message).toMatch(/ is .*; expected /s);
    expect(queries).not.toHaveBeenCalled();
  }

  it.each<[keyof EnqueueOptions, unknown]>([
    ['priority', 1.5],
    ['priority', 2_147_483_648],
    ['priority', -2_147_483_649],
    ['priority', NaN],
    ['priority', Infinity],
    ['priority', '5'],
    ['priority', 5n],
    ['priority', null],
    ['priority', Symbol('5')],
    ['delay', -1],
    ['delay', NaN],
    ['delay', Infinity],
    ['delay', '1000'],
    ['delay', 100 * 365.25 * 86_400_000 + 1],
    ['delay', null],
    ['delay', new Date()],
    ['runAt', new Date(NaN)],
    ['runAt', '2026-01-01T00:00:00Z'],
    ['runAt', 1_767_225_600_000],
    ['runAt', null],
    ['runAt', new Date(Date.UTC(10_000, 0))],
    ['runAt', new Date(-8.64e15)],
    ['headers', null],
    ['headers', []],
    ['headers', 'trace=1'],
    ['maxAttempts', 0],
    ['maxAttempts', -1],
    ['maxAttempts', 1.5],
    ['maxAttempts', 2_147_483_648],
    ['maxAttempts', '3'],
  ])('are refused before any SQL: %s = %p', async (option, value) => {
    const options = { [option]: value };
    await expectRefusal(() => producer.queue.enqueue('name', 1, options), `enqueue.${option}`, value);
    const jobs = [{ entrypoint: 'name' }, { entrypoint: 'name', ...options }];
    await expectRefusal(() => producer.queue.enqueueMany(jobs), `jobs[1].${option}`, value);
  });

  it.each<[string, unknown]>([
    ['an empty string', ''],
    ['10 KB', 'x'.repeat(10_240)],
    ['513 bytes in 257 characters', 'é'.repeat(256) + 'x'],
    ['U+0000', 'a\0b'],
    ['a lone surrogate', LONE],
    ['undefined', undefined],
    ['null', null],
    ['a number', 5],
    ['an object', { name: 'x' }],
  ])('are refused before any SQL when the entrypoint is %s', async (_, entrypoint) => {
    await expectRefusal(() => producer.queue.enqueue(entrypoint as string), 'enqueue.entrypoint', entrypoint);
    const jobs = [{ entrypoint: entrypoint as string }];
    await expectRefusal(() => producer.queue.enqueueMany(jobs), 'jobs[0].entrypoint', entrypoint);
  });

  it.each<[string, object, string]>([
    ['a misspelt one', { prioritty: 1 }, 'enqueue.prioritty'],
    ['one of another library', { attempts: 3 }, 'enqueue.attempts'],
    ['a name that every object has', { constructor: 1 }, 'enqueue.constructor'],
    ['__proto__', JSON.parse('{"__proto__": 1}') as object, 'enqueue.__proto__'],
    ['a second payload', { payload: 1 }, 'enqueue.payload'],
    ['a second entrypoint', { entrypoint: 'other' }, 'enqueue.entrypoint'],
    ['delay and runAt', { delay: 0, runAt: new Date() }, 'enqueue.delay'],
  ])('are refused when there is %s', async (_, options, option) => {
    await expectRefusal(() => producer.queue.enqueue('name', 1, options), option, Object.values(options)[0]);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a number', 5],
    ['a Date', 'tomorrow'],
    ['an array', []],
  ])('are refused when they are no object: %s', async (_, options) => {
    await expectRefusal(() => producer.queue.enqueue('name', 1, options as object), 'enqueue', options);
  });

  it.each<[string, unknown, string, unknown]>([
    ['null', null, 'enqueueMany', null],
    ['an option of a job', { priority: 5 }, 'enqueueMany.priority', 5],
  ])('of enqueueMany are refused when they are %s', async (_, target, option, value) => {
    await expectRefusal(() => producer.queue.enqueueMany([{ entrypoint: 'name' }], target as object), option, value);
  });

  it('say what to write for a number in a string, and which name was meant', async () => {
    const attempt = (options: object) => producer.queue.enqueue('name', 1, options);
    await expect(attempt({ priority: '5' })).rejects.toThrow('write Number("5")');
    await expect(attempt({ prioritty: 5 })).rejects.toThrow('Did you mean priority?');
    await expect(attempt({ priority: 'x'.repeat(10_000) })).rejects.toThrow(/^.{0,300}$/s);
  });

  it('may be zero where that means something', async () => {
    const { id } = await producer.queue.enqueue('name', 0, { priority: 0, delay: 0 });
    expect(await database.query('select payload, priority, wait from pgqueue.job where id = $1', [id])).toEqual([
      { payload: 0, priority: 0, wait: 'ready' },
    ]);
  });

  it.each(['é'.repeat(256), `x'; drop table pgqueue.job;--`, 'NULL', '{a,"b\\"}', ' ', '💥\n\t'])(
    'take any name as the entrypoint: %j',
    async (entrypoint) => {
      const { id } = await producer.queue.enqueue(entrypoint);
      expect(await database.query('select entrypoint from pgqueue.job where id = $1', [id])).toEqual([{ entrypoint }]);
    },
  );

  it('count when they are inherited or getters', async () => {
    class Urgent {
      get priority() {
        return Number('7');
      }
    }
    const { id } = await producer.queue.enqueue('name', 1, new Urgent());
    expect(await database.query('select priority from pgqueue.job where id = $1', [id])).toEqual([{ priority: 7 }]);
    await producer.dataSource
      .transaction(async (manager) => {
        await producer.queue.enqueue('rolled_back', 1, Object.create({ manager }) as EnqueueOptions);
        throw new Error('no');
      })
      .catch(() => undefined);
    expect(await database.query(`select from pgqueue.job where entrypoint = 'rolled_back'`)).toEqual([]);
  });

  it.each([new Map(), new Date(), []])('are refused when they are no options at all: %p', async (options) => {
    await expect(producer.queue.enqueue('name', 1, options as EnqueueOptions)).rejects.toThrow(
      'expected an object with some of: priority',
    );
  });

  it('refuse headers that toJSON() makes no object', async () => {
    const headers = { toJSON: () => 'text' };
    await expect(producer.queue.enqueue('name', 1, { headers })).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_PAYLOAD',
    });
  });
});

describe('the size of a job', () => {
  let database: TestDatabase;
  let producer: TestApp;
  beforeAll(async () => {
    database = await createTestDatabase();
    producer = await startApp(database.url, {}, { worker: false });
  });
  afterAll(async () => {
    await producer.close();
    await database.drop();
  });

  it('may be 10 MiB of JSON, however it has to be escaped, and no more', async () => {
    const most = '"'.repeat(5 * 1024 * 1024 - 1);
    const { id } = await producer.queue.enqueue('big', most);
    const [row] = await database.query<{ payload: unknown }>('select payload from pgqueue.job where id = $1', [id]);
    expect(row!.payload === most).toBe(true);
    await expect(producer.queue.enqueue('big', most + '"')).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_PAYLOAD',
      message: expect.stringContaining('10485762 bytes'),
    });
  });

  it('is bounded for a call, too', async () => {
    const payload = 'x'.repeat(10_000_000);
    const jobs = Array.from({ length: 27 }, () => ({ entrypoint: 'big', payload }));
    await expect(producer.queue.enqueueMany(jobs)).rejects.toMatchObject({ code: 'PGQUEUE_INVALID_OPTION' });
  });
});

describe('closing an application', () => {
  it('waits for what it is enqueueing', async () => {
    const database = await createTestDatabase();
    const { queue, close } = await startApp(database.url, {}, { worker: false });
    const enqueued = Array.from({ length: 100 }, (_, index) => queue.enqueue('name', index));
    await close();
    await Promise.all(enqueued);
    expect(await database.query('select from pgqueue.job')).toHaveLength(100);
    await expect(queue.enqueue('name')).rejects.toMatchObject({ code: 'PGQUEUE_CLOSED' });
    await database.drop();
  });
});

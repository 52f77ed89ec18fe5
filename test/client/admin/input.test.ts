import { PgQueueAdmin } from 'nestjs-pgqueue';
import { createTestDatabase, startApp, type TestApp, type TestDatabase } from '../../support/index.js';

describe('what PgQueueAdmin is given', () => {
  let database: TestDatabase;
  let app: TestApp;
  let admin: PgQueueAdmin;
  let queries: jest.SpyInstance;
  beforeAll(async () => {
    database = await createTestDatabase();
    app = await startApp(database.url, {}, { worker: false });
    admin = app.app.get<PgQueueAdmin>(PgQueueAdmin);
    const pool = (app.dataSource.driver as unknown as { master: { query: () => unknown } }).master;
    queries = jest.spyOn(pool, 'query');
  });
  beforeEach(() => queries.mockClear());
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  type Method = keyof PgQueueAdmin;
  const LONE = String.fromCharCode(0xd83d);

  it.each<[Method, unknown, string, string]>([
    ...(['requeue', 'cancel', 'remove'] as const).flatMap((method): [Method, unknown, string, string][] => [
      [method, '1', `${method}.ids`, 'an array'],
      [method, undefined, `${method}.ids`, 'an array'],
      [method, ['1', 2], `${method}.ids[1]`, 'a string of digits, not a number'],
      [method, [1n], `${method}.ids[0]`, 'not a number'],
      [method, ['-1'], `${method}.ids[0]`, 'a string of digits'],
      [method, ['1 or true'], `${method}.ids[0]`, 'a string of digits'],
      [method, ['007'], `${method}.ids[0]`, 'a string of digits'],
      [method, ['9223372036854775808'], `${method}.ids[0]`, 'the id of a job'],
      [method, [''], `${method}.ids[0]`, 'the id of a job'],
      // eslint-disable-next-line no-sparse-arrays
      [method, [,], `${method}.ids[0]`, 'the id of a job'],
    ]),
    ['job', 5, 'job.id', 'not a number'],
    ['job', undefined, 'job.id', 'the id of a job'],
    ['pause', '', 'pause.entrypoint', 'not empty'],
    ['pause', undefined, 'pause.entrypoint', 'a name'],
    ['pause', 'x'.repeat(513), 'pause.entrypoint', 'at most 512 bytes'],
    ['resume', `a${LONE}`, 'resume.entrypoint', 'lone surrogates'],
    ['jobs', null, 'jobs', 'an object'],
    ['jobs', { stauts: 'failed' }, 'jobs.stauts', 'Did you mean status?'],
    ['jobs', { status: 'successful' }, 'jobs.status', `'queued', 'picked' or 'failed'`],
    ['jobs', { limit: 0 }, 'jobs.limit', 'from 1 to 1000'],
    ['jobs', { limit: 1_001 }, 'jobs.limit', 'from 1 to 1000'],
    ['jobs', { limit: '10' }, 'jobs.limit', 'Number("10")'],
    ['jobs', { after: 12 }, 'jobs.after', 'not a number'],
    ['jobs', { entrypoint: 'a\0' }, 'jobs.entrypoint', 'U+0000'],
    ['jobs', { dedupeKey: 'a' }, 'jobs.dedupeKey', 'an entrypoint beside it'],
    ['jobs', { entrypoint: 'work', dedupeKey: '' }, 'jobs.dedupeKey', '1 to 1024 bytes'],
    ['clear', undefined, 'clear', 'an object'],
    ['clear', { status: 'picked' }, 'clear.status', `'queued' or 'failed'`],
    ['clear', { entryPoint: 'work' }, 'clear.entryPoint', 'Did you mean entrypoint?'],
    ['clear', { entrypoint: undefined }, 'clear.entrypoint', 'to be left out'],
    ['clear', { status: undefined, entrypoint: 'work' }, 'clear.status', 'to be left out'],
  ])('%s(%j) is refused before any SQL', async (method, given, option, expected) => {
    const call = admin[method] as (given: unknown) => Promise<unknown>;
    await expect(call.call(admin, given)).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_OPTION',
      option,
      message: expect.stringContaining(expected),
    });
    expect(queries).not.toHaveBeenCalled();
  });

  it('may be no id at all, for which nothing is asked', async () => {
    expect(await admin.requeue([])).toEqual({ requeued: [], conflicts: [] });
    expect(await admin.remove([])).toEqual({ removed: [], running: [] });
    expect(queries).not.toHaveBeenCalled();
  });
});

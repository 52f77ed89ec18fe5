import { InvalidOptionError, pgQueueMigrations } from 'nestjs-pgqueue';
import { createNames } from '../../lib/sql/names.js';
import { createTestDatabase, type Deferred, deferred, startWorker, type TestDatabase } from '../support/index.js';
import { boot } from './boot.js';

const INJECTION = `x'; drop table y;--`;
const LONG = 'x'.repeat(62);

describe('the schema can be called', () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await createTestDatabase({ empty: true })));
  afterAll(() => database.drop());

  const exists = async (schema: string) =>
    (await database.query('select from pg_catalog.pg_namespace where nspname = $1', [schema])).length === 1;

  it.each([
    'a"b',
    `a'b`,
    `'`,
    '"',
    'select',
    'My Schema',
    ' ',
    'pgqueue:x',
    'a.b',
    '$1',
    '$$; $&',
    '$do$',
    '$function$',
    '\\',
    `\\'`,
    '%I %s %',
    '--',
    '/*',
    'a\nb',
    'PG_x',
    '123',
    'jobs 💥',
    INJECTION,
    'x'.repeat(63),
    LONG + 'a',
    'é'.repeat(31) + 'x',
    'И'.repeat(28),
  ])('%j: installs, runs, wakes by notification, and is dropped', async (schema) => {
    const { queue, dataSource, close } = await boot(database.url, { schema });
    expect(await exists(schema)).toBe(true);

    const handled: Deferred<unknown>[] = [deferred(), deferred()];
    const handlers = { [INJECTION]: ({ payload }: { payload: unknown }) => handled[Number(payload)]?.resolve(payload) };
    const worker = await startWorker(database.url, handlers, { schema, pollInterval: 600_000 });
    await worker.event('listening');
    for (const [payload, each] of handled.entries()) {
      const { id } = await queue.enqueue(INJECTION, payload);
      await each.promise;
      await worker.event('settled', ({ ids }) => ids.includes(id)); // now only a notification can wake it
    }
    await worker.stop();
    expect(worker.events.filter(({ type }) => type === 'error')).toEqual([]);

    const runner = dataSource.createQueryRunner();
    for (const Migration of pgQueueMigrations({ schema }).reverse()) await new Migration().down(runner);
    await runner.release();
    expect(await exists(schema)).toBe(false);
    await close();
  });

  it.each(['x'.repeat(64), 'é'.repeat(32), '', 'pg_jobs'])('but not %j, which is refused early', async (schema) => {
    await expect(boot(database.url, { schema })).rejects.toBeInstanceOf(InvalidOptionError);
    expect(
      await database.query(`select from pg_catalog.pg_namespace where nspname ~ '^(x{60}|é{30}|pg_jobs)'`),
    ).toEqual([]);
  });

  it('alike for 62 bytes, and still has a channel of its own', () => {
    const channels = [LONG + 'a', LONG + 'b', 'pgqueue', 'PgQueue'].map((schema) => createNames(schema).channel);
    expect(new Set(channels).size).toBe(channels.length);
    for (const channel of channels) expect(Buffer.byteLength(channel)).toBeLessThan(64);
  });
});

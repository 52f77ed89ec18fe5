import { createTestDatabase, deferred, openSession, type TestDatabase, useWorkerGround } from '../support/index.js';
import { createNames } from '../../lib/sql/names.js';
import { boot } from '../schema/boot.js';
import { createRole } from '../schema/role.js';

describe('pgqueue.enqueue()', () => {
  const ground = useWorkerGround();
  const enqueue = async (args: string) =>
    (await ground.database.query<{ id: string }>(`select pgqueue.enqueue(${args}) as id`))[0]?.id;
  const jobs = (columns = 'payload') => ground.database.query(`select ${columns} from pgqueue.job order by id`);

  it.each([
    [`'work'`, null],
    [`'work', null`, null],
    [`'work', null::jsonb`, null],
    [`'work', '{"b": 1,  "a": 2}'`, '{"b": 1,  "a": 2}'],
    [`'work', 'null'`, 'null'],
    [`'work', '"it''s"'`, `"it's"`],
    [`'work', '{"b": 1,  "a": 2}'::json`, '{"b": 1,  "a": 2}'],
    [`'work', '{"b": 1,  "a": 2}'::jsonb`, '{"a": 2, "b": 1}'],
    [`'work', jsonb_build_object('id', 5)`, '{"id": 5}'],
    [`'work', json_build_object('id', 5)`, '{"id" : 5}'],
    [`'work', row_to_json(r)) from (select 1 as id, 'x' as name) r--`, '{"id":1,"name":"x"}'],
    [`'work', to_json('plain'::text)`, '"plain"'],
    [`'work', '5'::varchar`, '5'],
  ])('takes a payload as JSON: %s', async (args, payload) => {
    await ground.database.query(`select pgqueue.enqueue(${args}\n)`.replace(/--\n\)$/, ''));
    expect(await jobs('payload::text, headers, priority, max_attempts, dedupe_key, wait')).toEqual([
      { payload, headers: null, priority: 0, max_attempts: null, dedupe_key: null, wait: 'ready' },
    ]);
  });

  it.each(['{}', '{}::text', '{}::json', '{}::jsonb'])(
    'writes the same columns as the producer, from %s',
    async (payload) => {
      const { queue } = await ground.producer();
      const runAt = new Date('2031-02-03T04:05:06.789Z');
      const options = { priority: -3, headers: { a: 1 }, maxAttempts: 7, dedupeKey: 'a', runAt };
      const [value, type = ''] = payload.split(/(?=::)/);
      const id = await enqueue(
        `'work', '${value}'${type}, priority => -3, headers => '{"a": 1}', max_attempts => 7, dedupe_key => 'a',
       run_at => '2031-02-03 04:05:06.789Z'`,
      );
      expect(await queue.enqueue('work', {}, options)).toEqual({ id, duplicate: true });
      await queue.enqueue('work', {}, { ...options, dedupeKey: 'b' });
      const [one, other] = await jobs(`to_jsonb(job) - 'id' - 'created_at' - 'dedupe_key' as columns`);
      expect(one).toEqual(other);
    },
  );

  it('delays by the clock, and by the calendar', async () => {
    await enqueue(`'work', delay => '1 hour'`);
    await enqueue(`'work', delay => '1 month'`);
    await enqueue(`'work', delay => '0'`);
    await enqueue(`'work', run_at => '2001-01-01'`);
    const rows = await jobs(`wait,
      abs(extract(epoch from run_at - created_at - (array['1 hour', '1 month', '0'])[id]::interval)) < 5 as fits`);
    expect(rows).toEqual([
      { wait: 'later', fits: true },
      { wait: 'later', fits: true },
      { wait: 'ready', fits: true },
      { wait: 'ready', fits: null },
    ]);
  });

  it('skips, replaces or raises unique_violation, and names the job', async () => {
    const id = await enqueue(`'work', '1', dedupe_key => 'a'`);
    expect(await enqueue(`'work', '2', dedupe_key => 'a'`)).toBe(id);
    expect(await jobs()).toEqual([{ payload: 1 }]);
    expect(await enqueue(`'work', '3', dedupe_key => 'a', on_conflict => 'replace'`)).toBe(id);
    await expect(enqueue(`'work', '4', dedupe_key => 'a', on_conflict => 'raise'`)).rejects.toMatchObject({
      code: '23505',
      message: `Job ${id} of entrypoint work has the dedupe_key a, and on_conflict is raise`,
    });
    expect(await jobs()).toEqual([{ payload: 3 }]);
  });

  it.each<[string, RegExp]>([
    ['null', /entrypoint must be a name of 1 to 512 bytes/],
    [`''`, /entrypoint/],
    [`repeat('x', 513)`, /entrypoint/],
    [`'work', 'hello'`, /payload must be JSON.*to_json/],
    [`'work', ''`, /payload must be JSON/],
    [`'work', '{"a": 1'`, /payload must be JSON/],
    [`'work', repeat('[', 1000000) || repeat(']', 1000000)`, /payload must be JSON/],
    [`'work', to_json(repeat('x', 10485760))`, /payload must be JSON of at most 10485760 bytes/],
    [`'work', headers => '[]'`, /headers must be a JSON object/],
    [`'work', headers => jsonb_build_object('a', repeat('x', 10485760))`, /headers must be JSON of at most/],
    [`'work', priority => null`, /priority/],
    [`'work', delay => '1 s', run_at => now()`, /either delay or run_at/],
    [`'work', delay => '-1 s'`, /delay must be from 0 to 100 years/],
    [`'work', delay => '101 years'`, /delay/],
    [`'work', run_at => 'infinity'`, /run_at/],
    [`'work', run_at => '-infinity'`, /run_at/],
    [`'work', run_at => '10000-01-01Z'`, /run_at/],
    [`'work', max_attempts => 0`, /max_attempts must be at least 1/],
    [`'work', dedupe_key => ''`, /dedupe_key must have 1 to 1024 bytes/],
    [`'work', dedupe_key => repeat('é', 513)`, /dedupe_key/],
    [`'work', dedupe_key => 'a', on_conflict => 'update'`, /on_conflict must be skip, raise or replace/],
    [`'work', dedupe_key => 'a', on_conflict => null`, /on_conflict/],
    [`'work', on_conflict => 'raise'`, /on_conflict needs a dedupe_key/],
  ])('refuses what the producer refuses, as an invalid parameter: %s', async (args, message) => {
    await expect(enqueue(args)).rejects.toMatchObject({ code: '22023', message: expect.stringMatching(message) });
    expect(await jobs()).toEqual([]);
  });

  it('wakes a worker that listens when it commits, and not before', async () => {
    const handled = deferred<unknown>();
    const worker = await ground.start({ work: ({ payload }) => handled.resolve(payload) }, { pollInterval: 600_000 });
    await worker.event('listening');
    const session = await openSession(ground.database);
    await session.begin();
    await session.db.query(`select pgqueue.enqueue('work', '{"n": 1}')`);
    expect(worker.events.filter(({ type }) => type === 'claimed')).toEqual([]);
    await session.commit();
    await session.end();
    expect(await handled.promise).toEqual({ n: 1 });
  });

  it('works whatever the search_path is, and for who may read and insert jobs only', async () => {
    const role = await createRole(ground.database);
    const session = await openSession({ ...ground.database, url: role.url });
    const call = (rest = '') => session.db.query(`select pgqueue.enqueue('work', '1', dedupe_key => 'a'${rest}) as id`);
    await session.db.query(`set search_path = ''`);
    await expect(call()).rejects.toMatchObject({ code: '42501' });
    await ground.database.query(`grant usage on schema pgqueue to ${role.quoted}`);
    await ground.database.query(`grant select, insert on pgqueue.job to ${role.quoted}`);
    const [first] = await call();
    expect(await call()).toEqual([first]);
    await expect(call(`, on_conflict => 'replace'`)).rejects.toMatchObject({ code: '42501' });
    await ground.database.query(`grant update on pgqueue.job to ${role.quoted}`);
    expect(await call(`, on_conflict => 'replace'`)).toEqual([first]);
    await session.end();
    await role.drop();
  });

  it(`leaves the statements of version 1 as they are`, async () => {
    await ground.database
      .query(`insert into pgqueue.job (entrypoint, payload, headers, priority, max_attempts, run_at, wait)
      values ('work', '1', null, 0, null, clock_timestamp(), 'ready')`);
    const claim = await ground.queue.claim(1);
    expect(claim.jobs).toMatchObject([{ entrypoint: 'work', dedupeKey: null }]);
  });
});

describe('enqueue() of a schema with any name', () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await createTestDatabase({ empty: true })));
  afterAll(() => database.drop());

  it.each(['a"b', `a'b`, 'My Schema', '$function$', '\\', '%s', 'é'.repeat(31)])(
    '%j works and notifies',
    async (schema) => {
      const { close } = await boot(database.url, { schema });
      const session = await openSession(database);
      const notified = deferred<string>();
      const client = await database.pool.connect();
      client.on('notification', ({ channel }) => notified.resolve(channel));

      const own = createNames(schema);
      await client.query(`listen "${own.channel.replaceAll('"', '""')}"`);
      for (const rest of ['', `, dedupe_key => 'a'`, `, dedupe_key => 'a', on_conflict => 'replace'`]) {
        await session.db.query(`select ${own.schema}.enqueue('work', '{}'::jsonb${rest})`);
      }
      expect(await notified.promise).toBe(own.channel);
      expect(await database.query(`select dedupe_key from ${own.job} order by id`)).toHaveLength(2);
      client.release(true);
      await session.end();
      await close();
    },
  );
});

import { type EnqueueOptions, InvalidOptionError, type JobInput } from 'nestjs-pgqueue';
import { createTestDatabase, startApp, type TestApp, type TestDatabase } from '../support/index.js';

const COUNT = 70_000;

describe('enqueueMany', () => {
  let database: TestDatabase;
  let producer: TestApp;
  beforeAll(async () => {
    database = await createTestDatabase();
    producer = await startApp(database.url, {}, { worker: false });
  });
  afterEach(() => database.query('truncate pgqueue.job'));
  afterAll(async () => {
    await producer.close();
    await database.drop();
  });

  const count = async () => (await database.query('select count(*)::int from pgqueue.job'))[0]?.['count'];

  it.each<[string, (n: number) => Partial<JobInput>]>([
    ['that differ', (n) => ({ entrypoint: `name ${n % 7}`, priority: -n })],
    ['that are alike', () => ({})],
  ])('stores more jobs %s than a statement may have parameters, and returns their ids in order', async (_, like) => {
    const jobs = Array.from({ length: COUNT }, (_each, n) => ({ entrypoint: 'name', payload: n, ...like(n) }));
    const results = await producer.queue.enqueueMany(jobs);
    const rows = await database.query<{ id: string; n: number }>('select id, payload::text::int as n from pgqueue.job');
    const stored = new Map(rows.map(({ id, n }) => [id, n]));
    expect(rows).toHaveLength(COUNT);
    expect(results.map(({ id }) => stored.get(id))).toEqual(jobs.map(({ payload }) => payload));
  });

  it('stores all or none, when one of very many is bad', async () => {
    const jobs: JobInput[] = Array.from({ length: COUNT }, () => ({ entrypoint: 'name' }));
    jobs[COUNT - 1] = { entrypoint: 'name', priority: 0.5 };
    const attempt = producer.queue.enqueueMany(jobs);
    await expect(attempt).rejects.toMatchObject({ option: `jobs[${COUNT - 1}].priority`, value: 0.5 });
    expect(await count()).toBe(0);
  });

  it('stores all or none, when the database refuses one', async () => {
    await database.query(`alter table pgqueue.job add constraint small check (priority < 10)`);
    const attempt = producer.queue.enqueueMany([{ entrypoint: 'name' }, { entrypoint: 'name', priority: 10 }]);
    await expect(attempt).rejects.toMatchObject({ constraint: 'small' });
    expect(await count()).toBe(0);
    await database.query(`alter table pgqueue.job drop constraint small`);
  });

  it('returns ids in the order of the jobs, while others enqueue', async () => {
    const calls = Array.from({ length: 20 }, (_, call) =>
      producer.queue.enqueueMany(
        Array.from({ length: 50 }, (_each, n) => ({
          entrypoint: 'name',
          payload: [call, n],
          runAt: new Date(9e12 - n),
        })),
      ),
    );
    const results = await Promise.all(calls);
    const rows = await database.query<{ id: string; payload: [number, number] }>('select id, payload from pgqueue.job');
    const stored = new Map(rows.map(({ id, payload }) => [id, payload]));
    results.forEach((jobs, call) => jobs.forEach(({ id }, n) => expect(stored.get(id)).toEqual([call, n])));
  });

  it('of nothing returns nothing', async () => {
    expect(await producer.queue.enqueueMany([])).toEqual([]);
    expect(await count()).toBe(0);
  });

  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'jobs'],
    ['one job', { entrypoint: 'name' }, 'jobs'],
    ['an iterable', new Set([{ entrypoint: 'name' }]), 'jobs'],
    ['a list with undefined', [{ entrypoint: 'name' }, undefined], 'jobs[1]'],
    ['a list with null', [null], 'jobs[0]'],
    ['a list of names', ['name'], 'jobs[0]'],
    ['a list with a hole', new Array(1), 'jobs[0]'],
    ['a list of lists', [[{ entrypoint: 'name' }]], 'jobs[0]'],
  ])('is refused with a typed error that says where: %s', async (_, jobs, option) => {
    const error: unknown = await producer.queue.enqueueMany(jobs as JobInput[]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({ code: 'PGQUEUE_INVALID_OPTION', option });
    expect(await count()).toBe(0);
  });

  it.each<[string, unknown, EnqueueOptions]>([
    ['no option', { a: 1 }, {}],
    [
      'undefined for all',
      undefined,
      { priority: undefined, delay: undefined, runAt: undefined, headers: undefined, maxAttempts: undefined },
    ],
    ['priority', 'x', { priority: -2_147_483_648 }],
    ['the highest priority', 'x', { priority: 2_147_483_647 }],
    ['runAt', null, { runAt: new Date('2031-02-03T04:05:06.789Z') }],
    ['runAt long ago', null, { runAt: new Date('0001-01-01T00:00:00.000Z') }],
    ['runAt before our era', null, { runAt: new Date(Date.UTC(-3_999, 0)) }],
    ['the last runAt', null, { runAt: new Date(Date.UTC(10_000, 0) - 1) }],
    ['headers', [], { headers: { trace: 'é"\\' } }],
    ['maxAttempts', 0, { maxAttempts: 2_147_483_647 }],
    ['all at once', false, { priority: 3, runAt: new Date(4_102_444_800_000), headers: { a: [1] }, maxAttempts: 1 }],
  ])('writes the same columns as enqueue: %s', async (_, payload, options) => {
    await producer.queue.enqueue('name', payload, options);
    await producer.queue.enqueueMany([{ entrypoint: 'name', payload, ...options }]);
    const [single, bulk] = await database.query(`
      select to_jsonb(job) - 'id' - 'created_at' - 'run_at' as columns,
        case when run_at <> created_at and abs(extract(epoch from run_at - created_at)) > 60 then run_at end as run_at
      from pgqueue.job order by id`);
    expect(bulk).toEqual(single);
    expect(single?.['columns']).toMatchObject({
      entrypoint: 'name',
      payload: payload ?? null,
      headers: options.headers ?? null,
      priority: options.priority ?? 0,
      max_attempts: options.maxAttempts ?? null,
      attempt: 0,
      status: 'queued',
    });
    const due = await database.query(`select (extract(epoch from run_at) * 1000)::text::float8 as ms from pgqueue.job`);
    if (options.runAt) expect(due.map(({ ms }) => ms)).toEqual([options.runAt.getTime(), options.runAt.getTime()]);
  });

  it.each<[string, JobInput[]]>([
    [
      'in everything',
      [
        { entrypoint: 'one', payload: 'é"\\', priority: 1, delay: 3_600_000, headers: { a: 1 }, maxAttempts: 2 },
        { entrypoint: 'two', payload: null, runAt: new Date(4_102_444_800_000) },
        { entrypoint: 'one', priority: -1, delay: 7_200_000, maxAttempts: 3 },
      ],
    ],
    [
      'in what only the last has',
      [
        { entrypoint: 'one' },
        { entrypoint: 'one' },
        { entrypoint: 'two', priority: 7, delay: 3_600_000, headers: {}, maxAttempts: 1 },
      ],
    ],
    [
      'in what only the first has',
      [
        { entrypoint: 'two', priority: 7, headers: {}, maxAttempts: 1, runAt: new Date('2001-01-01') },
        { entrypoint: 'one' },
      ],
    ],
    [
      'in their payloads',
      [1, undefined, null, 'é"\\', '€'.repeat(30), 'a'.repeat(70), 'ü'.repeat(70)].map((payload) => {
        return { entrypoint: 'one', payload, priority: 5, delay: 3_600_000 };
      }),
    ],
    [
      'in nothing',
      Array<JobInput>(3).fill({ entrypoint: 'one', payload: 1, priority: 5, delay: 3_600_000, maxAttempts: 4 }),
    ],
  ])('writes each job as if it were alone, where jobs differ %s', async (_, jobs) => {
    const read = (ids: string[]) =>
      database.query(
        `select to_jsonb(job) - 'id' - 'created_at' - 'run_at' as columns, payload::text, headers::text,
           round(extract(epoch from run_at - case when run_at - created_at < '-1 min' or run_at > '2090-01-01'
             then 'epoch' else created_at end)) as due
         from pgqueue.job where id = any($1::bigint[]) order by id`,
        [ids],
      );
    const together = await producer.queue.enqueueMany(jobs);
    const alone: string[] = [];
    for (const { entrypoint, payload, ...options } of jobs) {
      alone.push((await producer.queue.enqueue(entrypoint, payload, options)).id);
    }
    expect(await read(together.map(({ id }) => id))).toEqual(await read(alone));
    expect(await read(alone)).toMatchObject(
      jobs.map(({ entrypoint, priority = 0, maxAttempts = null, headers = null }) => ({
        columns: { entrypoint, priority, max_attempts: maxAttempts, headers },
      })),
    );
  });

  it.each<[string, EnqueueOptions]>([
    ['that differ', { priority: 1 }],
    ['that are alike', {}],
  ])('writes nothing, and says so, when a trigger leaves out some of the jobs %s', async (_, options) => {
    await database.query(`
      create or replace function leave_out() returns trigger language plpgsql as
        $$ begin return case when new.payload::text = '13' then null else new end; end $$;
      create trigger leave_out before insert on pgqueue.job for each row execute function leave_out()`);
    const attempt = producer.queue.enqueueMany([
      { entrypoint: 'name' },
      { entrypoint: 'name', payload: 13, ...options },
    ]);
    await expect(attempt).rejects.toThrow('Of 2 jobs 1 were inserted');
    expect(await count()).toBe(0);
    await database.query('drop trigger leave_out on pgqueue.job');
  });

  it('leaves out no column, so that a default of its own makes no difference', async () => {
    await database.query(`
      alter table pgqueue.job alter max_attempts set default 3, alter headers set default '{"a": 1}'`);
    await producer.queue.enqueue('name');
    for (const entrypoint of ['name', 'other'])
      await producer.queue.enqueueMany([{ entrypoint: 'name' }, { entrypoint }]);
    const rows = await database.query('select max_attempts, headers from pgqueue.job');
    expect(rows).toEqual(Array(5).fill({ max_attempts: null, headers: null }));
    await database.query('alter table pgqueue.job alter max_attempts drop default, alter headers drop default');
  });

  it('takes a delay as enqueue does', async () => {
    await producer.queue.enqueue('name', 1, { delay: 3_600_000 });
    await producer.queue.enqueueMany([{ entrypoint: 'name', payload: 1, delay: 3_600_000 }]);
    const rows = await database.query(`
      select wait, extract(epoch from run_at - created_at) between 3599 and 3601 as in_an_hour from pgqueue.job`);
    expect(rows).toEqual(Array(2).fill({ wait: 'later', in_an_hour: true }));
  });
});

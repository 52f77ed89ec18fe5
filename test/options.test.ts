import { inspect } from 'node:util';
import { Test } from '@nestjs/testing';
import { InvalidOptionError, PgQueueModule, pgQueueMigrations, type PgQueueOptions } from 'nestjs-pgqueue';
import { DataSource } from 'typeorm';
import { resolveOptions } from '../lib/options.js';
import { silentLogger } from './support/index.js';

const NUL = String.fromCharCode(0);
const LONE = String.fromCharCode(0xdc00);
const BEYOND_TIMER = 2 ** 31;

const bad: [path: string, value: unknown][] = [
  ...['dataSource', 'migrationsRun', 'notify', 'worker', 'defaults', 'schema', 'retention'].map(
    (name): [string, unknown] => [name, null],
  ),
  ['dataSource', 'postgres://localhost'],
  ['migrationsRun', 'true'],
  ['migrationsRun', 0],
  ['notify', 1],
  ['worker', 10],
  ['worker', 'false'],
  ['worker', []],
  ['defaults', true],
  ['defaults.retry', 5],
  ['retention', 7],
  ...[-1, 1.5, NaN, Infinity, '7'].map((value): [string, unknown] => ['retention.successful', value]),
  ['retention.failed', null],
  ['schema', ''],
  ['schema', 5],
  ['schema', 'a'.repeat(64)],
  ['schema', 'é'.repeat(32)],
  ['schema', 'pg_queue'],
  ['schema', `a${NUL}`],
  ['schema', `a${LONE}`],
  ...[NaN, 0, -1, 1.5, '5', Infinity, 5n, {}, null].map((value): [string, unknown] => ['worker.concurrency', value]),
  ...[NaN, 0, 9, -1, '5000', 10.5, BEYOND_TIMER].map((value): [string, unknown] => ['worker.pollInterval', value]),
  ...[NaN, 0, 99, 1e3 + 0.5, BEYOND_TIMER].map((value): [string, unknown] => ['worker.heartbeatTimeout', value]),
  ...[NaN, -1, 0.5, '0', BEYOND_TIMER].map((value): [string, unknown] => ['worker.shutdownTimeout', value]),
  ['worker.autoStart', 'false'],
  ['worker.autoStart', 0],
  ['transaction', {}],
  ['transaction', null],
  ['listenUrl', null],
  ['listenUrl', 5432],
  ['worker.entrypoints', 'name'],
  ['worker.entrypoints[1]', ''],
  ['worker.entrypoints[0]', 5],
  ...[0, -1, 1.5, NaN, '3', 2 ** 31].map((value): [string, unknown] => ['defaults.retry.maxAttempts', value]),
  ...[-1, NaN, Infinity, '1000'].map((value): [string, unknown] => ['defaults.retry.delay', value]),
  ...[0, 0.5, -2, NaN, Infinity, '2'].map((value): [string, unknown] => ['defaults.retry.backoff', value]),
  ...[-1, NaN, Infinity].map((value): [string, unknown] => ['defaults.retry.maxDelay', value]),
  ...[-0.1, 1.1, NaN, '0.1'].map((value): [string, unknown] => ['defaults.retry.jitter', value]),
  ['conection', {}],
  ['worker.concurency', 5],
  ['defaults.retry.attempts', 5],
  ['worker.__proto__', 5],
  ['toString', 5],
];

/** `nest('a.b[1]', 5)` is `{ a: { b: ['name', 5] } }`; what comes before in a list is right. */
function nest(path: string, value: unknown): PgQueueOptions {
  const [, name = path, index] = /^(.*)\[(\d)\]$/.exec(path) ?? [];
  const leaf = index === undefined ? value : [...Array<string>(Number(index)).fill('name'), value];
  const json = name.split('.').reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), leaf);
  return json as PgQueueOptions;
}

const thrownBy = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe('the options of the module', () => {
  const named = bad.map(([path, value]) => [path, inspect(value), value] as const);
  it.each(named)('are refused by name, value and what is expected: %s = %s', (path, _, value) => {
    const error = thrownBy(() => resolveOptions(nest(path, value)));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({ code: 'PGQUEUE_INVALID_OPTION', option: `PgQueueModule.${path}`, value });
    expect((error as Error).message).toContain(`PgQueueModule.${path} is `);
    expect((error as Error).message).toMatch(/; expected \S/);
  });

  it('say which name was meant, and what to write for a number in a string', () => {
    expect(() => resolveOptions(nest('worker.concurency', 5))).toThrow('Did you mean concurrency?');
    expect(() => resolveOptions(nest('worker.concurrency', '5'))).toThrow('write Number("5")');
    expect(() => resolveOptions(nest('worker.concurrency', 'five'))).not.toThrow(/Number\(/);
    expect(() => resolveOptions(nest('schema', 'x'.repeat(99_999)))).toThrow(/^.{0,300}$/s);
  });

  it.each(['PgQueueModule', `PgQueueModule 'reports'`])(
    'are refused before anything is asked of the database: %s',
    async (where) => {
      const dataSource = new DataSource({ type: 'postgres', host: '127.0.0.1', port: 1 });
      const touched = jest.spyOn(dataSource, 'createQueryRunner');
      const name = where === 'PgQueueModule' ? undefined : 'reports';
      for (const given of [{ worker: { concurrency: 0 } }, { schema: '' }]) {
        const forRoot = PgQueueModule.forRoot({ dataSource, name, ...given });
        const forRootAsync = PgQueueModule.forRootAsync({ name, useFactory: () => ({ dataSource, ...given }) });
        for (const module of [forRoot, forRootAsync]) {
          const boot = Test.createTestingModule({ imports: [module] })
            .setLogger(silentLogger)
            .compile();
          const error: unknown = await boot.catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(InvalidOptionError);
          expect((error as InvalidOptionError).option).toMatch(`${where}.`);
        }
      }
      expect(touched).not.toHaveBeenCalled();
    },
  );

  it.each([
    ['no URL', { listenUrl: 'host=db password=secret' }],
    ['the URL of another database', { listenUrl: 'mysql://user:secret@db/shop' }],
    ['a URL without use', { listenUrl: 'postgresql://user:secret@db/shop', notify: false }],
  ])('are refused without showing a password: %s', (_, options) => {
    const error = thrownBy(() => resolveOptions(options));
    expect(error).toMatchObject({ code: 'PGQUEUE_INVALID_OPTION', option: 'PgQueueModule.listenUrl' });
    expect(inspect(error)).not.toContain('secret');
  });

  it('have one set of defaults, which undefined leaves alone', () => {
    const given = {
      schema: undefined,
      worker: { concurrency: undefined },
      retention: { failed: undefined },
      defaults: { retry: undefined },
    };
    const resolved = {
      dataSource: undefined,
      schema: 'pgqueue',
      migrationsRun: true,
      notify: true,
      listenUrl: undefined,
      retention: { successful: 604_800_000, failed: 2_592_000_000 },
      transaction: undefined,
      worker: {
        concurrency: 10,
        pollInterval: 5_000,
        heartbeatTimeout: 30_000,
        shutdownTimeout: 20_000,
        entrypoints: undefined,
        autoStart: true,
      },
      defaults: {
        retry: { maxAttempts: 5, delay: 1_000, backoff: 2, maxDelay: 300_000, jitter: 0.1 },
        timeout: undefined,
        onFailure: 'hold',
      },
    };
    for (const options of [undefined, {}, { worker: true }, given]) {
      expect(resolveOptions(options)).toEqual(resolved);
    }
    expect(resolveOptions({ worker: false }).worker).toBe(false);
  });

  it('may be zero, and the least and the most, where the documentation says so', () => {
    const zeros = { worker: { shutdownTimeout: 0 }, defaults: { retry: { delay: 0, maxDelay: 0, jitter: 0 } } };
    const resolved = resolveOptions(zeros);
    expect(resolved.worker).toMatchObject({ shutdownTimeout: 0 });
    expect(resolveOptions({ retention: { successful: 0 } }).retention).toEqual({
      successful: 0,
      failed: 2_592_000_000,
    });
    expect(resolved.defaults.retry).toMatchObject({ delay: 0, maxDelay: 0, jitter: 0 });
    const least = { concurrency: 1, pollInterval: 10, heartbeatTimeout: 100, entrypoints: [] };
    expect(resolveOptions({ worker: least }).worker).toMatchObject(least);
    const most = { pollInterval: 2 ** 31 - 1, heartbeatTimeout: 2 ** 31 - 1, shutdownTimeout: 2 ** 31 - 1 };
    expect(resolveOptions({ worker: most }).worker).toMatchObject(most);
    const ones = { jitter: 1, backoff: 1, maxAttempts: 1 };
    expect(resolveOptions({ defaults: { retry: ones } }).defaults.retry).toMatchObject(ones);
  });

  it('do not change when the object that was given does', () => {
    const given = { worker: { concurrency: 3, entrypoints: ['a'] }, defaults: { retry: { delay: 7 } } };
    const resolved = resolveOptions(given);
    given.worker.concurrency = 99;
    given.worker.entrypoints.push('b');
    given.defaults.retry.delay = 99;
    expect(resolved.worker).toMatchObject({ concurrency: 3, entrypoints: ['a'] });
    expect(resolved.defaults.retry.delay).toBe(7);
  });

  it.each(['', 'pg_x', 'é'.repeat(32), 5, null])('are checked by pgQueueMigrations too: schema = %p', (schema) => {
    const error = thrownBy(() => pgQueueMigrations({ schema: schema as string }));
    expect(error).toMatchObject({ code: 'PGQUEUE_INVALID_OPTION', option: 'pgQueueMigrations.schema', value: schema });
  });

  it.each([{ shema: 'x' }, null, 'work'])('are checked by pgQueueMigrations too: %p', (options) => {
    expect(() => pgQueueMigrations(options as object)).toThrow(InvalidOptionError);
  });
});

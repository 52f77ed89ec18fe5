import { Injectable, Module } from '@nestjs/common';
import { PG_QUEUE_OPTIONS, PgQueueModule, PgQueueProducer, type PgQueueOptions } from 'nestjs-pgqueue';
import { useGround } from './support/index.js';

type AsyncOptions = Parameters<typeof PgQueueModule.forRootAsync>[0];

const SCHEMA = 'configured';

@Injectable()
class Config {
  createPgQueueOptions(): PgQueueOptions {
    return { schema: SCHEMA, worker: false };
  }
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

describe('PgQueueModule.forRootAsync()', () => {
  const ground = useGround();
  const boot = (options: AsyncOptions) =>
    ground.boot({ imports: [ground.typeOrm(), PgQueueModule.forRootAsync(options)] });

  const given: [string, AsyncOptions][] = [
    ['useFactory', { useFactory: () => ({ schema: SCHEMA }) }],
    ['an async useFactory', { useFactory: () => Promise.resolve({ schema: SCHEMA }) }],
    [
      'useFactory, inject and imports',
      { imports: [ConfigModule], inject: [Config], useFactory: (config: Config) => config.createPgQueueOptions() },
    ],
    ['useClass', { useClass: Config }],
    ['useExisting and imports', { imports: [ConfigModule], useExisting: Config }],
  ];

  it.each(given)('takes its options from %s', async (_, options) => {
    const app = await boot(options);
    await app.get(PgQueueProducer).enqueue('work');
    expect(await ground.database.query(`select entrypoint from ${SCHEMA}.job`)).toEqual([{ entrypoint: 'work' }]);
  });

  it('provides its options under PG_QUEUE_OPTIONS within its module', async () => {
    const app = await boot({ useClass: Config });
    expect(app.get(PG_QUEUE_OPTIONS, { strict: false })).toEqual({ schema: SCHEMA, worker: false });
  });

  it('injects undefined for an optional token that nobody provides', async () => {
    const useFactory = jest.fn(() => ({ schema: SCHEMA }));
    await boot({ inject: [{ token: 'nobody', optional: true }], useFactory });
    expect(useFactory).toHaveBeenCalledWith(undefined);
  });

  it('fails the start for a token that nobody provides, naming module, option and token', async () => {
    const start = boot({ inject: ['CONFIG'], useFactory: () => ({}) });
    await expect(start).rejects.toThrow('argument "CONFIG" at index [0] is available in the PgQueueModule');
    await expect(start).rejects.toThrow('nestjs-pgqueue/options');
  });

  const undefinedTokens: [string, AsyncOptions, string][] = [
    ['inject', { inject: [Config, undefined as never], useFactory: () => ({}) }, 'forRootAsync.inject[1] is undefined'],
    [
      'inject, as optional',
      { inject: [{ token: undefined as never, optional: true }], useFactory: () => ({}) },
      'forRootAsync.inject[0] is undefined',
    ],
    ['useClass', { useClass: undefined } as never, 'useFactory, useClass or useExisting'],
    ['useExisting', { useExisting: undefined } as never, 'useFactory, useClass or useExisting'],
  ];

  it.each(undefinedTokens)('refuses an undefined token in %s, as circular imports leave it', (_, options, message) => {
    const call = () => PgQueueModule.forRootAsync(options);
    expect(call).toThrow(expect.objectContaining({ code: 'PGQUEUE_INVALID_OPTION' }));
    expect(call).toThrow(`PgQueueModule.`);
    expect(call).toThrow(message);
    expect(call).toThrow('circular import');
  });

  it.each([
    ['undefined', () => undefined],
    ['null', () => null],
    ['a promise of undefined', () => Promise.resolve(undefined)],
  ])('fails the start when the factory returns %s', async (_, useFactory) => {
    await expect(boot({ useFactory: useFactory as never })).rejects.toMatchObject({
      code: 'PGQUEUE_INVALID_OPTION',
      message: expect.stringMatching(
        /^What the factory of PgQueueModule\.forRootAsync returned is (undefined|null); expected the options$/,
      ),
    });
  });

  it('fails the start when the factory of a class returns nothing', async () => {
    class Forgetful {
      createPgQueueOptions(): PgQueueOptions {
        return undefined as never;
      }
    }
    await expect(boot({ useClass: Forgetful })).rejects.toThrow('PgQueueModule.forRootAsync returned is undefined');
  });

  it('fails the start with what the factory throws or rejects with', async () => {
    const error = new Error('no configuration today');
    await expect(boot({ useFactory: () => Promise.reject(error) })).rejects.toBe(error);
    const throws = () => {
      throw error;
    };
    await expect(boot({ useFactory: throws })).rejects.toBe(error);
  });

  it('fails the start for an option that can not work, naming it, and the queue', async () => {
    const useFactory = () => ({ worker: { concurrency: '5' } }) as never;
    await expect(boot({ useFactory })).rejects.toThrow(
      'PgQueueModule.worker.concurrency is "5"; expected a whole number from 1 to 100000, not a string: write Number("5")',
    );
    await expect(boot({ name: 'reports', useFactory })).rejects.toThrow(
      `PgQueueModule 'reports'.worker.concurrency is "5"`,
    );
  });
});

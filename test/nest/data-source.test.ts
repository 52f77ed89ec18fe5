import { Global, Module, type FactoryProvider, type InjectionToken, type ValueProvider } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import type * as TypeOrm from 'typeorm';
import { DataSource } from 'typeorm';
import { PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { useGround } from './support/index.js';

describe('the DataSource of the application', () => {
  const ground = useGround();
  const url = process.env['DATABASE_URL'];
  // Must never be chosen where the application has a DataSource: whatever chooses it can't connect.
  beforeEach(() => void (process.env['DATABASE_URL'] = 'postgresql://127.0.0.1:1/never'));
  afterEach(() => {
    if (url === undefined) delete process.env['DATABASE_URL'];
    else process.env['DATABASE_URL'] = url;
  });

  const expectItWorksOn = async (app: { get(token: typeof PgQueueProducer): PgQueueProducer }) => {
    await app.get(PgQueueProducer).enqueue('work');
    expect(await ground.queued()).toEqual(['work']);
  };

  it('is used by itself when it is the default one, also beside named ones', async () => {
    const other = await ground.anotherDatabase();
    const named = ground.typeOrm({ name: 'reports', url: other.url });
    await expectItWorksOn(await ground.boot({ imports: [named, ground.typeOrm(), PgQueueModule.forRoot()] }));
  });

  it('that is only a named one is refused, naming it and dataSourceToken', async () => {
    const start = ground.boot({ imports: [ground.typeOrm({ name: 'reports' }), PgQueueModule.forRoot()] });
    await expect(start).rejects.toMatchObject({
      code: 'PGQUEUE_DATA_SOURCE',
      message: expect.stringMatching(
        /^PgQueueModule found no DataSource .* has: reportsDataSource in TypeOrmCoreModule\. .*dataSourceToken/,
      ),
    });
  });

  it('is chosen by dataSourceToken', async () => {
    const other = await ground.anotherDatabase();
    const imports = [ground.typeOrm({ url: other.url }), ground.typeOrm({ name: 'reports' })];
    const queue = PgQueueModule.forRoot({ dataSourceToken: getDataSourceToken('reports') });
    await expectItWorksOn(await ground.boot({ imports: [...imports, queue] }));
  });

  it.each([
    ['nobody has', 'ordersDataSource'],
    ['holds something else', 'settings'],
  ])(
    'is not found under a dataSourceToken that %s: the error names it and those that there are',
    async (_, dataSourceToken) => {
      @Global()
      @Module({ providers: [{ provide: 'settings', useValue: {} }], exports: ['settings'] })
      class SettingsModule {}
      const imports = [SettingsModule, ground.typeOrm(), PgQueueModule.forRoot({ dataSourceToken })];
      await expect(ground.boot({ imports })).rejects.toThrow(
        `there is no DataSource under dataSourceToken ${dataSourceToken}. The application has: DataSource in TypeOrmCoreModule`,
      );
    },
  );

  const moduleWith = (...providers: (FactoryProvider | ValueProvider)[]) => {
    @Module({ providers, exports: providers.map(({ provide }) => provide) })
    class DatabaseModule {}
    return DatabaseModule;
  };

  it('in a module that is not global is refused, naming it and its module', async () => {
    const database = moduleWith({ provide: DataSource, useFactory: () => ground.dataSource() });
    await expect(ground.boot({ imports: [database, PgQueueModule.forRoot()] })).rejects.toThrow(
      'The application has: DataSource in DatabaseModule. Choose one with dataSourceToken, and see that its module is global ' +
        'or among the imports of PgQueueModule.forRootAsync()',
    );
  });

  it('in a module that is not global is found among the imports of forRootAsync()', async () => {
    const database = moduleWith({ provide: DataSource, useFactory: () => ground.dataSource() });
    const queue = PgQueueModule.forRootAsync({ imports: [database], useFactory: () => ({}) });
    await expectItWorksOn(await ground.boot({ imports: [queue] }));
  });

  it.each<[string, InjectionToken]>([
    ['the token of the recipe in Nest’s documentation', 'DATA_SOURCE'],
    ['a symbol', Symbol('dataSource')],
    ['a class', class ReportsDataSource {}],
  ])('under %s is refused rather than overlooked while it connects', async (_, token) => {
    const database = moduleWith({ provide: token, useFactory: () => ground.dataSource() });
    await expect(ground.boot({ imports: [PgQueueModule.forRoot(), database] })).rejects.toThrow(
      /^PgQueueModule found no DataSource that it can use\. The application has: .* in DatabaseModule\./,
    );
  });

  it('can be given in the options, and stays open when the application closes', async () => {
    const dataSource = await ground.dataSource();
    const app = await ground.boot({ imports: [PgQueueModule.forRoot({ dataSource })] });
    await expectItWorksOn(app);
    await app.close();
    expect(dataSource.isInitialized).toBe(true);
  });

  it('that is not initialised is refused, wherever it comes from', async () => {
    const dataSource = new DataSource({ type: 'postgres', url: ground.url });
    const refusal = 'The DataSource for PgQueueModule is not initialised. Call and await its initialize() before';
    const given = PgQueueModule.forRoot({ dataSource });
    await expect(ground.boot({ imports: [given] })).rejects.toThrow(refusal);
    const database = moduleWith({ provide: DataSource, useValue: dataSource });
    const injected = PgQueueModule.forRootAsync({ imports: [database], useFactory: () => ({}) });
    await expect(ground.boot({ imports: [injected] })).rejects.toThrow(refusal);
    expect(dataSource.isInitialized).toBe(false);
  });

  it('of another type than postgres is refused', async () => {
    const mysql = { '@instanceof': Symbol.for('DataSource'), options: { type: 'mysql' }, isInitialized: true };
    const database = moduleWith({ provide: DataSource, useValue: mysql });
    const queue = PgQueueModule.forRootAsync({ imports: [database], useFactory: () => ({}) });
    await expect(ground.boot({ imports: [queue] })).rejects.toMatchObject({
      code: 'PGQUEUE_DATA_SOURCE',
      message: `PgQueueModule needs a DataSource of type 'postgres'; this one is of type 'mysql'`,
    });
  });
});

describe('a DataSource of a second copy of typeorm', () => {
  const ground = useGround();

  const secondCopy = async () => {
    let copy!: typeof TypeOrm;
    jest.isolateModules(() => (copy = jest.requireActual<typeof TypeOrm>('typeorm')));
    expect(copy.DataSource).not.toBe(DataSource);
    const dataSource = await new copy.DataSource({ type: 'postgres', url: ground.url }).initialize();
    const close = { onApplicationShutdown: () => dataSource.destroy() };
    const provide: InjectionToken = copy.DataSource;
    @Global()
    @Module({
      providers: [
        { provide, useValue: dataSource },
        { provide: 'close', useValue: close },
      ],
      exports: [provide],
    })
    class SecondModule {}
    return { SecondModule, dataSource, provide };
  };

  it('is refused rather than overlooked, naming it', async () => {
    const { SecondModule, dataSource } = await secondCopy();
    await expect(ground.boot({ imports: [SecondModule, PgQueueModule.forRoot()] })).rejects.toThrow(
      'The application has: DataSource in SecondModule. Choose one with dataSourceToken',
    );
    await dataSource.destroy();
  });

  it('is chosen by dataSourceToken, and its managers carry jobs', async () => {
    const { SecondModule, dataSource, provide } = await secondCopy();
    const app = await ground.boot({ imports: [SecondModule, PgQueueModule.forRoot({ dataSourceToken: provide })] });
    await dataSource.transaction(async (manager) => {
      await app.get(PgQueueProducer).enqueue('work', undefined, { manager });
      expect(await ground.queued()).toEqual([]);
    });
    expect(await ground.queued()).toEqual(['work']);
  });
});

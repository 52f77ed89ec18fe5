import { pgQueueMigrations } from 'nestjs-pgqueue';
import { DataSource } from 'typeorm';
import { createTestDatabase, openSession, type Session, type TestDatabase } from '../support/index.js';

const [First, ...others] = pgQueueMigrations();

describe('an upgrade beside transactions that use the tables', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let session: Session;
  beforeEach(async () => {
    database = await createTestDatabase({ empty: true });
    dataSource = await new DataSource({
      type: 'postgres',
      url: database.url,
      migrations: [First!, ...others],
    }).initialize();
    const runner = dataSource.createQueryRunner();
    await new First!().up(runner);
    await runner.release();
    session = await openSession(database);
    await session.begin();
  });
  afterEach(async () => {
    await session.end();
    await dataSource.destroy();
    await database.drop();
  });

  const upgrade = async () => {
    const runner = dataSource.createQueryRunner();
    try {
      for (const Migration of others) await new Migration().up(runner);
    } finally {
      await runner.release();
    }
  };
  const ENQUEUE = `insert into pgqueue.job (entrypoint) values ('work')`;

  it.each(['job_log', 'claim', 'job'])('gives way to one that has read %s and goes on to enqueue', async (table) => {
    await session.db.query(`select from pgqueue.${table}`);
    const upgraded = upgrade();
    // Meanwhile it waits for the lock, gives up and tries again.
    for (let round = 0; round < 3; round++) {
      await session.db.query('select pg_sleep(0.4)');
      await session.db.query(ENQUEUE);
    }
    await session.commit();
    await upgraded;
    expect(await database.query('select from pgqueue.job')).toHaveLength(3);
    expect(await database.query('select from pgqueue.migration')).toHaveLength(pgQueueMigrations().length);
  });

  it('holds up nobody else for longer than a moment', async () => {
    await session.db.query('select from pgqueue.job');
    const upgraded = upgrade();
    await session.db.query('select pg_sleep(0.3)');
    for (let call = 0; call < 5; call++) {
      const startedAt = performance.now();
      await database.query(ENQUEUE);
      expect(performance.now() - startedAt).toBeLessThan(1_500);
    }
    await session.rollback();
    await upgraded;
  });
});

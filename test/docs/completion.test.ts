import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { PG_QUEUE_OPTIONS, PgQueueWorker } from 'nestjs-pgqueue';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/index.js';
import { ReportsModule } from './completion/reports.js';

describe('docs/completion.md', () => {
  it('shows the program that is tested here', () => {
    const guide = readFileSync(path.resolve(__dirname, '../../docs/completion.md'), 'utf8');
    const [, shown] = /^```ts\n\/\/ reports\.ts\n(.*?)^```$/ms.exec(guide) ?? [];
    expect(shown).toBe(readFileSync(path.resolve(__dirname, 'completion/reports.ts'), 'utf8'));
  });
});

describe('the program of docs/completion.md', () => {
  const before = process.env['DATABASE_URL'];
  let database: TestDatabase;
  let app: INestApplication;
  beforeEach(async () => {
    database = await createTestDatabase();
    process.env['DATABASE_URL'] = database.url;
    const module = await Test.createTestingModule({ imports: [ReportsModule] })
      .setLogger(silentLogger)
      .overrideProvider(PG_QUEUE_OPTIONS)
      .useValue({ worker: { autoStart: false } })
      .compile();
    app = await module.createNestApplication().init();
  });
  afterEach(async () => {
    await app.close();
    if (before === undefined) delete process.env['DATABASE_URL'];
    else process.env['DATABASE_URL'] = before;
    await database.drop();
  });
  const post = (year: number) => request(app.getHttpServer()).post('/reports').send({ year });
  const get = (id: string) => request(app.getHttpServer()).get(`/reports/${id}`);

  it('answers with the report that is made in time', async () => {
    await app.get(PgQueueWorker).start();
    const { status, body } = await post(2026);
    expect(status).toBe(201);
    expect(body).toEqual({ id: '1', status: 'successful', result: { title: 'Report of 2026' } });
  });

  it('answers 202 with the id of one that is not, and with the report later', async () => {
    const { status, body } = await post(2025);
    expect([status, body]).toEqual([202, { id: '1' }]);
    await app.get(PgQueueWorker).drain();
    const later = await get(body.id);
    expect([later.status, later.body.result]).toEqual([200, { title: 'Report of 2025' }]);
  });

  it('answers 404 for a report that nobody has ordered', async () => {
    expect((await get('77')).status).toBe(404);
  });
});

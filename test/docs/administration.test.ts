import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { INestApplication } from '@nestjs/common';
import { PgQueueModule } from 'nestjs-pgqueue';
import { createTestDatabase, FAILED, onPool, silentLogger, type TestDatabase } from '../support/index.js';
import { FailedJobsController } from './administration/failed-jobs.controller.js';

const GUIDE = path.resolve(__dirname, '../../docs/administration.md');
const PROGRAMS = path.resolve(__dirname, 'administration');

describe('docs/administration.md', () => {
  it('shows the controller that is tested here', () => {
    const shown = [...readFileSync(GUIDE, 'utf8').matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)];
    expect(shown).toHaveLength(1);
    for (const [, file = '', text] of shown) expect(text).toBe(readFileSync(path.join(PROGRAMS, file), 'utf8'));
  });
});

describe('the controller of docs/administration.md', () => {
  let database: TestDatabase;
  let app: INestApplication;
  let url: string;
  let ids: string[];
  beforeEach(async () => {
    database = await createTestDatabase();
    const module = await Test.createTestingModule({
      imports: [TypeOrmModule.forRoot({ type: 'postgres', url: database.url }), PgQueueModule.forRoot()],
      controllers: [FailedJobsController],
    })
      .setLogger(silentLogger)
      .compile();
    app = module.createNestApplication();
    await app.listen(0);
    url = `${await app.getUrl()}/failed-jobs`;
    const queue = onPool(database);
    ids = await queue.add(...Array.from({ length: 60 }, () => ({})));
    await queue.settle(await queue.claim(60), FAILED);
    await queue.add({});
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  const read = async (of: string) => (await (await fetch(`${url}${of}`)).json()) as { id: string }[];
  const send = async (method: string, to: string, body: unknown) => {
    const headers = { 'Content-Type': 'application/json' };
    return await (await fetch(`${url}${to}`, { method, headers, body: JSON.stringify(body) })).json();
  };

  it('lists failed jobs page by page', async () => {
    const first = await read('');
    const second = await read(`?after=${first.at(-1)!.id}`);
    expect([first.length, second.length]).toEqual([50, 10]);
    expect([...first, ...second].map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('shows the attempts of a job, and 404 for one that nobody knows', async () => {
    expect(await read(`/${ids[0]}`)).toMatchObject({ status: 'failed', attempts: [{ error: 'Error: no' }] });
    expect((await fetch(`${url}/4711`)).status).toBe(404);
  });

  it('requeues and removes', async () => {
    expect(await send('POST', '/requeue', { ids: ids.slice(0, 2) })).toEqual({
      requeued: ids.slice(0, 2),
      conflicts: [],
    });
    expect(await send('DELETE', '', { ids: ids.slice(1, 3) })).toEqual({ removed: ids.slice(1, 3), running: [] });
  });
});

// What test/nest/start-and-stop.test.ts checks, on Nest 12, which Jest can't load: in every layout of modules and with every way
// to start, the worker starts after the hooks of all providers and is drained before them. It must then exit by itself.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { TypeOrmModule } from '@nestjs/typeorm';
import { pgQueueMigrations } from 'nestjs-pgqueue';
import { startEmbeddedPostgres } from 'nestjs-pgqueue/testing';
import { DataSource } from 'typeorm';
import { layouts, type Layout } from './support/layouts.js';
import { IN_ORDER, witnessModule } from './support/life-story.js';
import { waysToStart, type Start } from './support/ways-to-start.js';

const server = await startEmbeddedPostgres();
const settings = { type: 'postgres', url: server.url } as const;
const database = await new DataSource({ ...settings, migrations: pgQueueMigrations() }).initialize();
await database.runMigrations();

// A worker that started too early, or a hook that did not wait for it, has this long to show.
const moment = () => database.query('select pg_sleep(0.02)');

async function outcomes(): Promise<string[]> {
  await moment();
  return (await database.query<{ status: string }[]>('select status from pgqueue.job_log')).map(({ status }) => status);
}

/** Runs an application with a job that is queued before and still runs when it closes. Returns what happened, in order. */
async function live(start: Start, layout: Layout): Promise<string[]> {
  const told: string[] = [];
  const events = new EventEmitter();
  const begun = once(events, 'begun', { signal: AbortSignal.timeout(10_000) });
  const work = async (tell: (line: string) => void) => {
    tell('worker starts');
    const closing = once(events, 'closing');
    events.emit('begun');
    await closing;
  };
  const stage = { typeOrm: TypeOrmModule.forRoot(settings), outcomes, work };
  const root = witnessModule(layout, stage, (line) => void told.push(line));
  await database.query(`insert into pgqueue.job (entrypoint) values ('work')`);
  const app = await start(root);
  await begun;
  const closed = app.close();
  events.emit('closing');
  await closed;
  await app.close();
  await database.query('truncate pgqueue.job_log');
  return told;
}

for (const [way, start] of waysToStart) {
  for (const [place, layout] of layouts) {
    assert.deepEqual(await live(start, layout), IN_ORDER, `With ${way}, and a provider ${place}`);
  }
  console.log(`In order with ${way}`);
}
await database.destroy();
await server.stop();

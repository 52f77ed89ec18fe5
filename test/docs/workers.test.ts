import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { createTestDatabase, eventually, onPool, spawnWorker, type TestDatabase } from '../support/index.js';

const GUIDE = path.resolve(__dirname, '../../docs/workers.md');
const PROGRAMS = path.resolve(__dirname, 'workers');
const REGISTER = path.resolve(__dirname, '../../scripts/register.cjs');

// Its test is one of Jest's own.
describe('docs/workers.md', () => {
  it('shows the programs that are tested here', () => {
    const shown = [...readFileSync(GUIDE, 'utf8').matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)];
    const programs = readdirSync(PROGRAMS).filter((file) => file !== 'receipts.ts');
    expect(shown.map(([, file]) => file).sort()).toEqual(programs.sort());
    for (const [, file = '', text] of shown) expect(text).toBe(readFileSync(path.join(PROGRAMS, file), 'utf8'));
  });
});

describe('the programs of docs/workers.md', () => {
  let database: TestDatabase;
  beforeEach(async () => (database = await createTestDatabase()));
  afterEach(() => database.drop());

  const run = (file: string, env: NodeJS.ProcessEnv = {}) =>
    spawnWorker(`docs/${file}`, { DATABASE_URL: database.url, NODE_ENV: 'production', ...env });
  const enqueue = (orderId: number) =>
    onPool(database).add({ entrypoint: 'send_receipt', payload: `{"orderId":${orderId}}` });
  const count = async (table: string) =>
    Number((await database.query<{ count: string }>(`select count(*) from pgqueue.${table}`))[0]?.count);
  const ENDED_BY_ITSELF = { code: 0, signal: null };

  it('seed.ts enqueues and leaves the jobs; cron.ts runs them; each ends by itself', async () => {
    expect(await run('workers/seed.ts').exited).toEqual(ENDED_BY_ITSELF);
    expect([await count('job'), await count('job_log')]).toEqual([100, 0]);
    expect(await run('workers/cron.ts').exited).toEqual(ENDED_BY_ITSELF);
    expect([await count('job'), await count('job_log')]).toEqual([0, 100]);
  });

  it('cron.ts fails when a job has failed for good, or nothing can be claimed', async () => {
    await onPool(database).add({ entrypoint: 'send_receipt', payload: '{"orderId":-1}', maxAttempts: 1 });
    expect((await run('workers/cron.ts').exited).code).toBe(1);
    expect(await count('job_log')).toBe(1);
    await database.query('alter table pgqueue.job rename to elsewhere');
    expect((await run('workers/cron.ts').exited).code).toBe(1);
  });

  it('worker.ts runs jobs until a SIGTERM', async () => {
    const worker = run('workers/worker.ts', { ROLE: 'worker' });
    for (const orderId of [1, 2]) {
      await enqueue(orderId);
      await eventually(async () => expect(await count('job_log')).toBe(orderId));
    }
    worker.kill('SIGTERM');
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('function.ts runs what is due at each call', async () => {
    await enqueue(1);
    await enqueue(2);
    const platform = run('call-function.ts');
    await platform.waitForLine(/call 1: 2 attempts/);
    await platform.waitForLine(/call 2: 0 attempts/);
    await platform.exited;
  });

  it('repl.ts takes the lines of the guide', async () => {
    const env = { ...process.env, DATABASE_URL: database.url, NODE_ENV: 'production', NO_COLOR: '1' };
    const repl = spawn(process.execPath, ['--require', REGISTER, path.join(PROGRAMS, 'repl.ts')], { env });
    const ended = once(repl, 'close');
    const lines = [...readFileSync(GUIDE, 'utf8').matchAll(/^> (.*)$/gm)].map(([, line]) => line);
    repl.stdin.write(`${lines.join('\n')}\n`);
    await eventually(async () => expect(await count('job_log')).toBe(1));
    repl.kill('SIGKILL');
    await ended;
  });
});

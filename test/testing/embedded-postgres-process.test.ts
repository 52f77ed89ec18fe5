import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  createTemporaryFolder,
  expectNothingLeft,
  inspectServer,
  show,
  type TemporaryFolder,
} from './fixtures/leftovers.js';
import { eventually, spawnWorker, type WorkerProcess } from '../support/index.js';

let folder: TemporaryFolder;
let worker: WorkerProcess;

beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(async () => {
  worker.kill('SIGKILL');
  await worker.exited;
  await folder.remove();
});

function launch(end: string, options = {}): WorkerProcess {
  return (worker = spawnWorker('testing/fixtures/start-server.ts', { END: end, TMPDIR: folder.path }, options));
}

async function urlOf(started: WorkerProcess): Promise<string> {
  const [, url] = await started.waitForLine(/^started (.+)$/);
  return url!;
}

function expectSome<T>(items: T[]): [T, ...T[]] {
  if (items.length === 0) throw new Error('There is none');
  return items as [T, ...T[]];
}

describe('the process that started a server', () => {
  it('is killed: the server ends and its folder goes', async () => {
    const running = await inspectServer(await urlOf(launch('never')));
    worker.kill('SIGKILL');
    await worker.exited;
    await eventually(() => expectNothingLeft(running));
    expect(await folder.entries()).toEqual([]);
  });

  it('is killed while the server starts: nothing remains', async () => {
    await launch('never').waitForLine(/^starting$/);
    const [started] = await eventually(async () => expectSome(await folder.entries()));
    await eventually(() => existsSync(join(folder.path, started, 'data')));
    worker.kill('SIGKILL');
    await worker.exited;
    await eventually(async () => expect(await folder.entries()).toEqual([]));
  });

  it('exits without a stop: nothing remains at that moment', async () => {
    const running = await inspectServer(await urlOf(launch('by exit')));
    worker.kill('SIGUSR2');
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expectNothingLeft(running);
  });

  it('has nothing more to do: the server does not keep it alive', async () => {
    await urlOf(launch('by itself'));
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expect(await folder.entries()).toEqual([]);
  });

  it('gets Ctrl-C with its whole process group: the server serves until it is stopped', async () => {
    const running = await inspectServer(await urlOf(launch('by drain', { detached: true })));
    process.kill(-worker.pid, 'SIGINT');
    await worker.waitForLine(/^drained$/);
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expectNothingLeft(running);
  });

  it('has no handler for Ctrl-C: it ends as ever, and nothing remains', async () => {
    const running = await inspectServer(await urlOf(launch('never', { detached: true })));
    process.kill(-worker.pid, 'SIGINT');
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGINT' });
    await eventually(() => expectNothingLeft(running));
  });

  it('is no different from another that does the same', async () => {
    const other = spawnWorker('testing/fixtures/start-server.ts', { END: 'never', TMPDIR: folder.path });
    const urls = await Promise.all([urlOf(launch('never')), urlOf(other)]);
    other.kill('SIGKILL');
    await other.exited;
    await eventually(async () => expect(await folder.entries()).toHaveLength(1));
    expect(await show(urls[0], 'port')).toBe(new URL(urls[0]).port);
  });
});

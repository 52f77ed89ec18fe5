import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { startEmbeddedPostgres } from 'nestjs-pgqueue/testing';
import { Client } from 'pg';
import { deferred } from '../support/index.js';
import { createTemporaryFolder, expectNothingLeft, inspectServer, show } from './fixtures/leftovers.js';

describe('startEmbeddedPostgres', () => {
  it('starts a server that answers, and leaves nothing behind when stopped', async () => {
    const server = await startEmbeddedPostgres();
    expect(server.url).toMatch(/^postgresql:\/\/postgres@127\.0\.0\.1:\d+\/postgres$/);
    const running = await inspectServer(server.url);
    await server.stop();
    expectNothingLeft(running);
  });

  it('runs several servers at once', async () => {
    const servers = await Promise.all([startEmbeddedPostgres(), startEmbeddedPostgres()]);
    const [one, two] = await Promise.all(servers.map(({ url }) => inspectServer(url)));
    expect(one!.pid).not.toBe(two!.pid);
    await servers[0].stop();
    expectNothingLeft(one!);
    expect(await show(servers[1].url, 'port')).toBe(new URL(servers[1].url).port);
    await servers[1].stop();
    expectNothingLeft(two!);
  });

  it('stops once, however often it is asked, and in spite of open transactions', async () => {
    const server = await startEmbeddedPostgres();
    const running = await inspectServer(server.url);
    const client = new Client(server.url);
    const ended = deferred();
    client.on('error', () => undefined).once('end', () => ended.resolve());
    await client.connect();
    await client.query('BEGIN');
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expectNothingLeft(running);
    await ended.promise;
  });

  it('stops after the server has died by itself', async () => {
    const server = await startEmbeddedPostgres();
    const running = await inspectServer(server.url);
    process.kill(running.pid, 'SIGKILL');
    await server.stop();
    expectNothingLeft(running);
  });

  it('is fast rather than durable unless the settings say otherwise', async () => {
    const settings = { full_page_writes: true, max_connections: 17, 'pgqueue.text': "it's a \\ 'test'" };
    const server = await startEmbeddedPostgres({ settings });
    try {
      expect(await show(server.url, 'fsync')).toBe('off');
      expect(await show(server.url, 'full_page_writes')).toBe('on');
      expect(await show(server.url, 'max_connections')).toBe('17');
      expect(await show(server.url, 'pgqueue.text')).toBe(settings['pgqueue.text']);
    } finally {
      await server.stop();
    }
  });
});

describe('a start that fails', () => {
  let occupant: Server;
  let port: number;

  beforeAll(async () => {
    occupant = createServer().listen(0, '127.0.0.1');
    await once(occupant, 'listening');
    ({ port } = occupant.address() as AddressInfo);
  });
  afterAll(() => occupant.close());

  it('names the port that is in use', async () => {
    await expect(startEmbeddedPostgres({ port })).rejects.toMatchObject({
      name: 'EmbeddedPostgresError',
      code: 'PGQUEUE_EMBEDDED_POSTGRES_PORT_IN_USE',
      message: expect.stringContaining(String(port)),
    });
  });

  it('shows what the server said, and leaves nothing behind', async () => {
    const folder = await createTemporaryFolder();
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = folder.path;
    try {
      await expect(startEmbeddedPostgres({ settings: { no_such_setting: 1 } })).rejects.toMatchObject({
        code: 'PGQUEUE_EMBEDDED_POSTGRES_FAILED',
        message: expect.stringMatching(/^postgres ended with code 1[^]*"no_such_setting"/),
      });
      expect(await folder.entries()).toEqual([]);
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
      await folder.remove();
    }
  });
});

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import request from 'supertest';
import { createTestDatabase, eventually } from '../support/index.js';
import { type Command, createGround, createOutbox, type Ground, runCommand } from './support/index.js';

const STOPS_WITHIN = 5_000;
const TIMEOUT = 60_000;
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;

jest.setTimeout(TIMEOUT);

let ground: Ground;
const commands: Command[] = [];

beforeEach(async () => {
  ground = await createGround();
});

afterEach(async () => {
  await Promise.all(commands.splice(0).map((command) => command.kill()));
  await ground.clear();
});

/** As a newcomer has it: nothing is configured. */
const UNCONFIGURED = { PORT: '0', DATABASE_URL: '', OUTBOX_DIR: '', SMTP_URL: '' };
const NPM = ['npm', 'run', '--silent', 'sample-app'] as const;
const NODE = [process.execPath, '--require', './scripts/register.cjs', 'sample-app/main.ts'] as const;

function run(line: readonly string[], env: NodeJS.ProcessEnv = {}, user: { uid?: number; gid?: number } = {}): Command {
  const command = runCommand(line, { ...UNCONFIGURED, TMPDIR: ground.path, ...env }, user);
  commands.push(command);
  return command;
}

async function placeOrder(url: string): Promise<void> {
  const items = [{ sku: 'A1', quantity: 2, price: 9.5 }];
  await request(url).post('/orders').send({ customer: 'ann@example.org', items }).expect(201);
}

async function expectCleanStop(command: Command): Promise<void> {
  const began = Date.now();
  command.pressCtrlC();
  await command.exitCode;
  expect(Date.now() - began).toBeLessThan(STOPS_WITHIN);
  expect(await ground.files()).toEqual([]);
  expect(ground.processes()).toEqual([]);
}

describe('npm run sample-app', () => {
  it(
    'starts with one line, and Ctrl-C leaves nothing behind',
    async () => {
      const command = run(NPM);
      const [line, url = ''] = await command.waitFor(
        /^The shop is open at (http:\S+) with an embedded PostgreSQL .*\n/m,
      );
      await placeOrder(url);
      await eventually(async () => (await request(url).get('/orders/1')).body.receiptSentAt !== null);
      await expectCleanStop(command);
      expect(command.output()).toBe(line);
    },
    TIMEOUT,
  );

  it(
    'stops in time with jobs still running',
    async () => {
      const smtp = await startSilentServer();
      const command = run(NPM, { SMTP_URL: smtp.url });
      const [, url = ''] = await command.waitFor(/is open at (http:\S+)/);
      await placeOrder(url);
      await smtp.connected;
      await expectCleanStop(command);
      await smtp.stop();
    },
    TIMEOUT,
  );

  it(
    'is stopped by a Ctrl-C while it starts',
    async () => {
      const command = run(NPM);
      await eventually(async () => (await ground.files()).length > 0, { timeout: TIMEOUT });
      command.pressCtrlC();
      await command.exitCode;
      // The server's watchdog outlives the shop for a moment.
      await eventually(async () => (await ground.files()).length + ground.processes().length === 0);
    },
    TIMEOUT,
  );

  (IS_ROOT ? it : it.skip)(
    'works for an ordinary user',
    async () => {
      const user = { uid: NOBODY, gid: NOBODY };
      const command = run(NODE, {}, user);
      const [, url = ''] = await command.waitFor(/is open at (http:\S+)/);
      await request(url).get('/health').expect(200);
      await expectCleanStop(command);
    },
    TIMEOUT,
  );

  it(
    'ends with one clear line when the port is taken',
    async () => {
      const server = createServer().listen(0);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const command = run(NODE, { PORT: String(port) });
      expect(await command.exitCode).toBe(1);
      expect(command.output()).toBe(`Port ${port} is already in use. Set PORT to another one.\n`);
      expect(await ground.files()).toEqual([]);
      expect(ground.processes()).toEqual([]);
      server.close();
    },
    TIMEOUT,
  );

  it('uses DATABASE_URL and keeps OUTBOX_DIR', async () => {
    const [database, outbox] = await Promise.all([createTestDatabase({ empty: true }), createOutbox()]);
    const command = run(NODE, { DATABASE_URL: database.url, OUTBOX_DIR: outbox.path });
    const [, url = ''] = await command.waitFor(/is open at (http:\S+) with the PostgreSQL of DATABASE_URL/);
    expect(await ground.files()).toEqual([]);
    await placeOrder(url);
    await eventually(async () => (await request(url).get('/orders/1')).body.receiptSentAt !== null);
    await expectCleanStop(command);
    expect(await outbox.orderIds()).toEqual([1]);
    await Promise.all([database.drop(), outbox.remove()]);
  });
});

/** Accepts connections and never says a word. */
async function startSilentServer() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connected = once(server, 'connection');
  const stop = async () => {
    server.close();
    await once(server, 'close');
  };
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, connected, stop };
}

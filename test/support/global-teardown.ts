// Jest's moduleNameMapper does not reach here, so nothing else resolves `./x.js` to `./x.ts`.
import '../../scripts/register.cjs';
import { asAdmin } from './admin.js';
import './global-setup.js';

export default async function globalTeardown(): Promise<void> {
  const server = globalThis.testServer;
  const template = process.env['PGQUEUE_TEST_TEMPLATE'];
  if (server === undefined) return;
  await asAdmin(server.url, (client) => client.query(`DROP DATABASE IF EXISTS ${template}`));
  await server.stop();
}

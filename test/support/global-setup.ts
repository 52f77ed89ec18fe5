// Jest's moduleNameMapper does not reach here, so nothing else resolves `./x.js` to `./x.ts`.
import '../../scripts/register.cjs';
import { asAdmin, uniqueName, urlOfDatabase } from './admin.js';
import { type TestServer, startTestServer } from './test-server.js';
import { installTemplate } from './template.js';

declare global {
  var testServer: TestServer | undefined;
}

export default async function globalSetup(): Promise<void> {
  const server = await startTestServer();
  globalThis.testServer = server;
  process.stdout.write(`\nTests run on: ${server.description}\n`);
  const template = uniqueName('pgqueue_template');
  await asAdmin(server.url, (client) => client.query(`CREATE DATABASE ${template}`));
  await installTemplate(urlOfDatabase(server.url, template));
  process.env['PGQUEUE_TEST_SERVER'] = server.url;
  process.env['PGQUEUE_TEST_TEMPLATE'] = template;
}

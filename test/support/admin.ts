import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/** Runs `work` on a connection of its own to the server's default database. */
export async function asAdmin<T>(serverUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: serverUrl, application_name: 'test admin' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Unlike any other, as several runs may share a server. */
export const uniqueName = (prefix: string) => `${prefix}_${randomBytes(6).toString('hex')}`;

export function urlOfDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

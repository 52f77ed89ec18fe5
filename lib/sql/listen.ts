import { once } from 'node:events';
import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { createClient } from './connections.js';
import { quoteIdentifier } from './names.js';

/**
 * Listens until the signal aborts, on a connection of its own.
 * Rejects when the connection fails or ends before.
 */
export type Listen = (
  channel: string,
  onNotification: () => void,
  onListening: () => void,
  signal: AbortSignal,
) => Promise<void>;

export function listenThrough(dataSource: DataSource): Listen {
  return async (channel, onNotification, onListening, signal) => {
    const client = createClient(dataSource);
    const failed = failureOf(client);
    client.on('notification', onNotification);
    try {
      await client.connect();
      await client.query(`listen ${quoteIdentifier(channel)}`);
      onListening();
      await Promise.race([failed, aborted(signal)]);
    } finally {
      await client.end().catch(() => undefined);
    }
  };
}

function failureOf(client: Client): Promise<never> {
  const failed = new Promise<never>((_, reject) => {
    client.on('error', reject);
    client.on('end', () => reject(new Error('The connection that listens for notifications has ended')));
  });
  failed.catch(() => undefined); // it is raced, and may fail later
  return failed;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { createClient, cutOff } from './connections.js';
import { quoteIdentifier } from './names.js';

export interface ListenRequest {
  readonly channel: string;
  readonly onNotification: () => void;
  /** Called each time that LISTEN has taken effect: what was committed before told nobody. */
  readonly onListening: () => void;
  readonly signal: AbortSignal;
}

/**
 * Listens until the signal aborts, on a connection of its own.
 * Rejects when the connection fails, ends, or is found dead.
 */
export type Listen = (request: ListenRequest) => Promise<void>;

// A connection that is half open, or has been told to UNLISTEN, is found out within the sum of both.
const CHECK_INTERVAL = 5_000;
const CHECK_TIMEOUT = 4_000;
const END_TIMEOUT = 500;

/** @param url of a direct connection, where the application's goes through a pooler */
export function listenThrough(dataSource: DataSource, url?: string): Listen {
  return async (request) => {
    const client = createClient(dataSource, { url, queryTimeout: CHECK_TIMEOUT });
    const failed = failureOf(client);
    // Of this connection alone: nothing of it stays with the signal of all of them.
    const over = new AbortController();
    const stop = () => over.abort();
    request.signal.addEventListener('abort', stop);
    client.on('notification', request.onNotification);
    try {
      await Promise.race([failed, aborted(over.signal), listen(client, { ...request, signal: over.signal })]);
    } finally {
      request.signal.removeEventListener('abort', stop);
      over.abort();
      await end(client);
    }
  };
}

async function listen(client: Client, { channel, onListening, signal }: ListenRequest): Promise<void> {
  await client.connect();
  while (!signal.aborted) {
    await client.query(`listen ${quoteIdentifier(channel)}`);
    onListening();
    while (!signal.aborted && (await isListening(client, channel))) await pause(CHECK_INTERVAL, signal);
  }
}

async function isListening(client: Client, channel: string): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_listening_channels() as channel where channel = $1', [
    channel,
  ]);
  return rowCount === 1;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
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

// A dead connection answers to no goodbye.
async function end(client: Client): Promise<void> {
  const cut = setTimeout(() => cutOff(client), END_TIMEOUT);
  await client.end().catch(() => undefined);
  clearTimeout(cut);
}

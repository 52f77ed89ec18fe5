import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { DeafError } from '../domain/errors.js';
import { createClient, cutOff } from './connections.js';
import { clientDatabase, type Database } from './database.js';
import { quoteIdentifier } from './names.js';

export interface ListenRequest {
  readonly channel: string;
  readonly onNotification: (payload: string) => void;
  /** Called each time that LISTEN has taken effect: what was committed before told nobody. */
  readonly onListening: () => void;
  /** Asked from time to time instead of a check of its own. @returns whether the connection listens */
  readonly check?: ((db: Database) => Promise<boolean>) | undefined;
  readonly signal: AbortSignal;
}

/**
 * Listens until the signal aborts, on a connection of its own.
 * Rejects when the connection fails, ends, or is found dead.
 *
 * @throws DeafError when LISTEN was accepted by what does not pass notifications on
 */
export type Listen = (request: ListenRequest) => Promise<void>;

// A connection that is half open, or has been told to UNLISTEN, is found out within the sum of both.
const CHECK_INTERVAL = 5_000;
const CHECK_TIMEOUT = 4_000;
const END_TIMEOUT = 500;

/** @param url of a direct connection, where the application's goes through a pooler */
export function listenThrough(dataSource: DataSource, url?: string): Listen {
  const create = () => createClient(dataSource, { url, queryTimeout: CHECK_TIMEOUT });
  // Whoever listens elsewhere may have no rights on the tables there.
  return ({ signal, onNotification, check: own, ...request }) =>
    onClient(create(), signal, async (client, over) => {
      client.on('notification', ({ payload = '' }) => onNotification(payload));
      await listen(client, {
        ...request,
        check: url === undefined ? own : undefined,
        signal: over,
        notify: () => notify(create(), request.channel, over),
      });
    });
}

type Work = (client: Client, over: AbortSignal) => Promise<void>;

/** Connects, works until that is done, the connection fails or the signal aborts, and ends the connection. */
async function onClient(client: Client, signal: AbortSignal, work: Work): Promise<void> {
  const failed = failureOf(client);
  // Of this connection alone: nothing of it stays with the signal of all of them.
  const over = new AbortController();
  const stop = () => over.abort();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    const worked = client.connect().then(() => work(client, over.signal));
    await Promise.race([failed, aborted(over.signal), worked]);
  } finally {
    signal.removeEventListener('abort', stop);
    over.abort();
    await end(client);
  }
}

interface Listening extends Omit<ListenRequest, 'onNotification'> {
  /** Sends a notification through another connection of the same kind. */
  readonly notify: () => Promise<void>;
}

async function listen(client: Client, { channel, onListening, signal, notify, ...request }: Listening): Promise<void> {
  const isListening = () =>
    request.check?.(clientDatabase(client)) ?? check(client, channel).then((each) => each.isListening);
  while (!signal.aborted) {
    await client.query(`listen ${quoteIdentifier(channel)}`);
    const { isDirect } = await check(client, channel);
    if (!isDirect && !(await hears(client, notify, signal))) throw await deaf(client, channel);
    onListening();
    do await pause(CHECK_INTERVAL, signal);
    while (!signal.aborted && (await isListening()));
  }
}

const CHECK = `
  select pg_backend_pid() as pid, exists (select from pg_listening_channels() as channel where channel = $1) as listening`;

async function check(client: Client, channel: string): Promise<{ isListening: boolean; isDirect: boolean }> {
  const { rows } = await client.query<{ pid: number; listening: boolean }>(CHECK, [channel]);
  const { processID } = client as unknown as { processID: number | null };
  // A pooler says hello with a process id of its own, in whatever mode it is.
  return { isListening: rows[0]?.listening === true, isDirect: rows[0]?.pid === processID };
}

/** In session mode a pooler passes notifications on. In transaction mode it holds no backend for who waits for them. */
async function hears(client: Client, notify: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
  const heard = new AbortController();
  const hear = () => heard.abort();
  client.once('notification', hear);
  try {
    await notify();
    await pause(CHECK_TIMEOUT, AbortSignal.any([heard.signal, signal]));
    return heard.signal.aborted || signal.aborted;
  } finally {
    client.off('notification', hear);
  }
}

// The backend that has listened goes on to others, who would be sent what it hears.
async function deaf(client: Client, channel: string): Promise<DeafError> {
  await client.query(`unlisten ${quoteIdentifier(channel)}`);
  return new DeafError();
}

async function notify(client: Client, channel: string, signal: AbortSignal): Promise<void> {
  await onClient(client, signal, async () => {
    await client.query(`select pg_notify($1, '')`, [channel]);
  });
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

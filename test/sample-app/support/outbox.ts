import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Outbox {
  readonly path: string;
  /** The orders that have a receipt, one entry a mail. */
  orderIds(): Promise<number[]>;
  /** The receipts of an order. */
  mailsOf(orderId: number): Promise<string[]>;
  remove(): Promise<void>;
}

export async function createOutbox(): Promise<Outbox> {
  const path = await mkdtemp(join(tmpdir(), 'test-outbox-'));
  const mails = async () => (await readdir(path)).filter((file) => file.endsWith('.eml'));
  return {
    path,
    orderIds: async () => (await mails()).map((file) => Number.parseInt(file, 10)),
    mailsOf: async (orderId) => {
      const files = (await mails()).filter((file) => file.startsWith(`${orderId}-`));
      return Promise.all(files.map((file) => readFile(join(path, file), 'utf8')));
    },
    remove: () => rm(path, { recursive: true }),
  };
}

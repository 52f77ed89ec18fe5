import type { Pool, PoolClient } from 'pg';
import { cutOff } from './connections.js';

/** What `ownDatabase` needs of a pool. */
export type Connections = Pick<Pool, 'connect' | 'ending' | 'idleCount'>;

/** What one of several users has of a pool: it leaves with its connections, and without those of the others. */
export class PoolShare implements Connections {
  private readonly busy = new Map<PoolClient, Promise<void>>();
  private isOver = false;

  constructor(private readonly pool: Pool) {}

  get ending(): boolean {
    return this.isOver || this.pool.ending;
  }

  get idleCount(): number {
    return this.pool.idleCount;
  }

  connect = (async (): Promise<PoolClient> => {
    const client = await this.pool.connect();
    const release = client.release.bind(client); // each time another one
    const released = new Promise<void>((resolve) => {
      client.release = (destroy) => {
        this.busy.delete(client);
        release(destroy);
        resolve();
      };
    });
    this.busy.set(client, released);
    if (!this.isOver) return client;
    client.release();
    throw new Error('The worker that wanted a connection has ended');
  }) as Pool['connect'];

  /** Resolves when none of its connections is busy; those that still are after `grace` milliseconds are cut off. */
  async end(grace: number): Promise<void> {
    this.isOver = true;
    const cut = setTimeout(() => [...this.busy.keys()].forEach(cutOff), grace);
    await Promise.all(this.busy.values());
    clearTimeout(cut);
  }
}

import { DeafError } from '../domain/errors.js';
import type { Database } from '../sql/database.js';
import type { Listen } from '../sql/listen.js';
import { Backoff } from './backoff.js';
import { pause } from './bell.js';

// Somebody has to change how the application connects, and most of those who do start it again.
const DEAF_PAUSE = 600_000;

export interface Subscriber {
  onNotification(payload: string): void;
  /** LISTEN has taken effect: what was committed before told nobody. */
  onListening(): void;
  /** Asks the connection something of one's own from time to time. @returns whether it listens */
  readonly check?: (db: Database) => Promise<boolean>;
  /** It has failed, and will be tried again. */
  onFailure(error: unknown): void;
}

/** Keeps one LISTEN alive. */
export class Subscription {
  private readonly stopped = new AbortController();
  private readonly backoff = new Backoff();
  private isDeaf = false;
  private loop: Promise<void> | undefined;

  constructor(
    private readonly listen: Listen,
    private readonly channel: string,
    private readonly subscriber: Subscriber,
  ) {}

  start(): void {
    this.loop ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      try {
        await this.listen({
          channel: this.channel,
          onNotification: (payload) => this.subscriber.onNotification(payload),
          onListening: () => this.onListening(),
          check: this.subscriber.check,
          signal,
        });
      } catch (error) {
        await this.recover(error);
      }
    }
  }

  private async recover(error: unknown): Promise<void> {
    const { signal } = this.stopped;
    const isDeaf = error instanceof DeafError;
    // That nothing can be heard is said once.
    if (!isDeaf || !this.isDeaf) this.subscriber.onFailure(error);
    this.isDeaf = isDeaf;
    await (isDeaf ? pause(DEAF_PAUSE, signal) : this.backoff.pause(signal));
  }

  private onListening(): void {
    this.backoff.reset();
    this.isDeaf = false;
    this.subscriber.onListening();
  }
}

import { DeafError } from '../domain/errors.js';
import { CANCELED } from '../sql/names.js';
import type { Listen } from '../sql/listen.js';
import { Backoff } from './backoff.js';
import { type Bell, pause } from './bell.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';

// Somebody has to change how the application connects, and most of those who do start it again.
const DEAF_PAUSE = 600_000;

/** Keeps one LISTEN alive and rings at each notification: `canceled` at one that says so, else `wakeUp`. */
export class Listener {
  private readonly stopped = new AbortController();
  private readonly backoff = new Backoff();
  private isDeaf = false;
  private loop: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    private readonly listen: Listen,
    private readonly wakeUp: Bell,
    private readonly canceled: Bell,
  ) {}

  start(): void {
    if (this.context.options.notify) this.loop ??= this.run();
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
          channel: this.context.names.channel,
          onNotification: (payload) => (payload === CANCELED ? this.canceled : this.wakeUp).ring(),
          onListening: () => this.onListening(),
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
    // That jobs wait for the poll is said once.
    if (!isDeaf || !this.isDeaf) reportError(this.context, 'listen', error);
    this.isDeaf = isDeaf;
    await (isDeaf ? pause(DEAF_PAUSE, signal) : this.backoff.pause(signal));
  }

  // What was committed before LISTEN took effect told nobody.
  private onListening(): void {
    this.backoff.reset();
    this.isDeaf = false;
    this.context.observe({ type: 'listening' });
    this.wakeUp.ring();
    this.canceled.ring();
  }
}

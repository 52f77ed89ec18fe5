import type { Listen } from '../sql/listen.js';
import { Backoff } from './backoff.js';
import type { Bell } from './bell.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';

/** Keeps one LISTEN alive and rings at each notification. */
export class Listener {
  private readonly stopped = new AbortController();
  private readonly backoff = new Backoff();
  private loop: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    private readonly listen: Listen,
    private readonly wakeUp: Bell,
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
          onNotification: () => this.wakeUp.ring(),
          onListening: () => this.onListening(),
          signal,
        });
      } catch (error) {
        reportError(this.context, 'listen', error);
        await this.backoff.pause(signal);
      }
    }
  }

  // What was committed before LISTEN took effect told nobody.
  private onListening(): void {
    this.backoff.reset();
    this.context.observe({ type: 'listening' });
    this.wakeUp.ring();
  }
}

import { pause } from './bell.js';

/** Does something at an interval until it is stopped. What it does must not throw. */
export class Ticker {
  private readonly stopped = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(
    private readonly interval: number,
    private readonly tick: () => Promise<void>,
  ) {}

  start(): void {
    this.loop ??= this.run();
  }

  /** Resolves when no tick is under way any more. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      await this.tick();
      await pause(this.interval, this.stopped.signal);
    }
  }
}

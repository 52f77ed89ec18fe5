import type { Listen } from '../sql/listen.js';
import { Bell, pause } from './bell.js';
import { ClaimBook } from './claim-book.js';
import { Claimer } from './claimer.js';
import { Dispatcher } from './dispatcher.js';
import { Listener } from './listener.js';
import { Pulse } from './pulse.js';
import { Settler } from './settler.js';
import type { WorkerContext } from './worker-context.js';

// What a database that is down may add to a shutdown.
const FLUSH_TIMEOUT = 2_000;

/** All parts of one running worker. It is started once and stopped once. */
export class Worker {
  private readonly wakeUp = new Bell();
  private readonly book = new ClaimBook();
  private readonly settler: Settler;
  private readonly dispatcher: Dispatcher;
  private readonly claimer: Claimer;
  private readonly listener: Listener;
  private readonly pulse: Pulse;
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    listen: Listen,
  ) {
    const wake = () => this.wakeUp.ring();
    this.settler = new Settler(context, this.book, wake);
    this.dispatcher = new Dispatcher(context, this.settler, new Bell());
    this.claimer = new Claimer(context, this.book, this.dispatcher, this.wakeUp);
    this.listener = new Listener(context, listen, this.wakeUp);
    this.pulse = new Pulse(context, this.book, {
      onFreed: wake,
      onLost: (claimId) => this.dispatcher.abortClaim(claimId),
    });
  }

  start(): void {
    this.pulse.start();
    this.listener.start();
    this.claimer.start();
  }

  /** Claims no more, lets handlers end within `shutdownTimeout`, writes what became of them, and stops beating last. */
  stop(): Promise<void> {
    return (this.stopping ??= this.wind());
  }

  private async wind(): Promise<void> {
    await this.claimer.stop();
    await this.dispatcher.drain(this.context.options.shutdownTimeout);
    await this.flush();
    await Promise.all([this.listener.stop(), this.pulse.stop()]);
  }

  private async flush(): Promise<void> {
    const flushed = new AbortController();
    const expired = pause(FLUSH_TIMEOUT, flushed.signal).then(() => this.settler.abandon());
    await this.settler.flush();
    flushed.abort();
    await expired;
  }
}

import type { HandOver } from '../sql/insert-claimed.js';
import type { Listen } from '../sql/listen.js';
import { Bell } from '../waiting/bell.js';
import { ClaimBook } from './claim-book.js';
import { Claimer } from './claimer.js';
import { Dispatcher } from './dispatcher.js';
import { Listener } from './listener.js';
import { Maintainer } from './maintainer.js';
import { dissolve } from './maintenance.js';
import { Pulse, type PulseListener } from './pulse.js';
import { Settler } from './settler.js';
import { within } from '../waiting/within.js';
import type { WorkerContext } from './worker-context.js';

// What a database that is down, or doesn't answer, may add to each step of a shutdown.
const LAST_WORDS = 1_000;

// One that gets no answer ends with its connection.
const LAST_BEAT = 100;

// Drains may follow each other closely.
const STRETCHES_PER_DRAIN = 1;

/** All parts of one running worker. It is started once and stopped once. */
export class Worker {
  private readonly wakeUp = new Bell();
  private readonly book = new ClaimBook();
  private readonly settler: Settler;
  private readonly dispatcher: Dispatcher;
  private readonly claimer: Claimer;
  private readonly listener: Listener;
  private readonly pulse: Pulse;
  private readonly maintainer: Maintainer;
  private readonly leave: () => void;
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    listen: Listen,
  ) {
    const wake = () => {
      this.claimer.lookout.want();
      this.wakeUp.ring();
    };
    const freed = new Bell();
    this.settler = new Settler(context, this.book, { onRequeued: wake, onWritten: () => freed.ring() });
    this.dispatcher = new Dispatcher(context, this.settler, freed);
    this.claimer = new Claimer(context, this.book, this.dispatcher, this.wakeUp, (stale) => this.pulse.looked(stale));
    this.leave = context.team.occupancy.enter(() => this.dispatcher.isIdle && this.book.isEmpty);
    const hurry = new Bell();
    this.listener = new Listener(context, listen, this.claimer.lookout, this.wakeUp, hurry);
    const pulse: PulseListener = {
      onFreed: wake,
      onLost: (claimId) => this.dispatcher.abortClaim(claimId),
      onCanceled: (job) => this.dispatcher.cancel(job),
    };
    this.pulse = new Pulse(context, this.book, pulse, hurry);
    this.maintainer = new Maintainer(context);
  }

  start(): void {
    const { handlers, options, observe } = this.context;
    observe({ type: 'started', entrypoints: [...handlers.keys()], concurrency: options.concurrency });
    this.pulse.start();
    this.listener.start();
    this.claimer.start();
    this.maintainer.start();
  }

  /** Has a job inserted for this worker. */
  get handOver(): HandOver {
    return this.claimer.handOver;
  }

  /**
   * Runs what is due until nothing is left or the signal aborts, and stops. Rejects when it can't claim, though not while it is
   * stopped.
   */
  async drain(signal: AbortSignal | undefined): Promise<void> {
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => (stop = () => resolve(this.stop())));
    signal?.addEventListener('abort', stop);
    try {
      // A statement that gets no answer must not hold up the one who has stopped it.
      if (signal?.aborted !== true) await Promise.race([this.runDry(), stopped]);
      if (signal?.aborted === true || this.stopping !== undefined) this.context.observe({ type: 'drain-stopped' });
    } catch (error) {
      if (this.stopping === undefined) throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
      await this.stop();
    }
  }

  /** Claims no more, lets handlers end within `shutdownTimeout`, writes what became of them, and stops beating last. */
  stop(): Promise<void> {
    return (this.stopping ??= this.wind());
  }

  private async runDry(): Promise<void> {
    const { heartbeatTimeout } = this.context.options;
    // What the dead have left is due as well, and nobody else may look for it.
    await dissolve(this.context, () => this.claimer.lookout.want());
    this.pulse.start();
    // An application that only drains has nobody else to do so.
    const maintained = this.maintainer.maintain(STRETCHES_PER_DRAIN);
    // An outcome that can't be written for longer is somebody else's to find. Claiming tells why.
    await this.claimer.drain(() => within(heartbeatTimeout, this.settler.flush()));
    await maintained;
  }

  private async wind(): Promise<void> {
    const { shutdownTimeout } = this.context.options;
    // Together, as a claim that is under way is given back when it comes.
    const last = Promise.all([this.claimer.stop(), this.listener.stop(), this.maintainer.stop()]);
    await Promise.all([within(LAST_WORDS, last), this.dispatcher.drain(shutdownTimeout)]);
    await this.flush();
    await within(LAST_BEAT, this.pulse.stop());
    this.leave();
  }

  private async flush(): Promise<void> {
    await within(LAST_WORDS, this.settler.flush());
    this.settler.abandon();
  }
}

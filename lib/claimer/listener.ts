import type { Listen } from '../sql/listen.js';
import { CANCELED, LATER } from '../sql/names.js';
import type { Bell } from '../waiting/bell.js';
import { Subscription } from '../waiting/subscription.js';
import type { Lookout } from './lookout.js';
import { reportError } from './report-error.js';
import type { WorkerContext } from './worker-context.js';

/** Listens with `notify`, and rings at each notification: `canceled` at one that says so, else `wakeUp`. Looks out through its connection. */
export class Listener {
  private readonly subscription: Subscription;

  constructor(
    private readonly context: WorkerContext,
    listen: Listen,
    lookout: Lookout,
    wakeUp: Bell,
    canceled: Bell,
  ) {
    this.subscription = new Subscription(listen, context.names.channel, {
      onNotification: (payload) => {
        if (payload === LATER) lookout.want();
        (payload === CANCELED ? canceled : wakeUp).ring();
      },
      check: (db) => lookout.lookThrough(db),
      onListening: () => {
        context.observe({ type: 'listening' });
        lookout.want();
        wakeUp.ring();
        canceled.ring();
      },
      onFailure: (error) => void reportError(context, 'listen', error),
    });
  }

  start(): void {
    if (this.context.options.notify) this.subscription.start();
  }

  stop(): Promise<void> {
    return this.subscription.stop();
  }
}

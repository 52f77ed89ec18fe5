/** Any number of listeners with one on the signal itself, for Node takes more than ten there for a leak. */
export class AbortListeners {
  private readonly relays = new WeakMap<AbortSignal, Relay>();

  add(signal: AbortSignal, listener: () => void): void {
    const relay = this.relays.get(signal) ?? attach(signal);
    this.relays.set(signal, relay);
    relay.listeners.add(listener);
  }

  remove(signal: AbortSignal, listener: () => void): void {
    const relay = this.relays.get(signal);
    relay?.listeners.delete(listener);
    if (relay?.listeners.size !== 0) return;
    signal.removeEventListener('abort', relay.onAbort);
    this.relays.delete(signal);
  }
}

interface Relay {
  readonly listeners: Set<() => void>;
  readonly onAbort: () => void;
}

function attach(signal: AbortSignal): Relay {
  const listeners = new Set<() => void>();
  const onAbort = () => {
    for (const listener of listeners) listener();
  };
  signal.addEventListener('abort', onAbort);
  return { listeners, onAbort };
}

import { deferred } from './deferred.js';

/** What a loop waits for when it has found nothing. */
export class Bell {
  rings = 0;
  stopped = false;
  private ringing = deferred<undefined>();

  get next(): Promise<undefined> {
    return this.ringing.promise;
  }

  /** The next ring, or the end of so many milliseconds. */
  async nextWithin(milliseconds: number): Promise<void> {
    const timer = setTimeout(() => this.ring(), milliseconds);
    await this.next;
    clearTimeout(timer);
  }

  ring(): void {
    this.rings++;
    this.ringing.resolve(undefined);
    this.ringing = deferred();
  }

  stop(): void {
    this.stopped = true;
    this.ring();
  }
}

import { within } from './within.js';

/** Lets one work at a time, in the order in which they came. Who takes longer than `longest` milliseconds is joined by the next. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly longest: number) {}

  take<T>(work: () => Promise<T>): Promise<T> {
    const before = this.last;
    const mine = before.then(work);
    const done = mine.catch(() => undefined);
    this.last = before.then(() => within(this.longest, done));
    return mine;
  }
}

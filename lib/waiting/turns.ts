/** Lets one work at a time, in the order in which they came. Who takes longer than `longest` milliseconds is joined by the next. */
export class Turns {
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly longest: number) {}

  take<T>(work: () => Promise<T>): Promise<T> {
    const before = this.last;
    const mine = before.then(work);
    this.last = before.then(
      () =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, this.longest).unref();
          const end = () => {
            clearTimeout(timer);
            resolve();
          };
          mine.then(end, end);
        }),
    );
    return mine;
  }
}

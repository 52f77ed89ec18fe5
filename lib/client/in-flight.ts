/** Work that is under way, to be awaited when everything ends. */
export class InFlight {
  private readonly pending = new Set<Promise<unknown>>();
  private readonly rejections = new Set<(reason: Error) => void>();

  /** Settles as `work` does, or rejects when it is given up. */
  run<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.pending.add(work);
      this.rejections.add(reject);
      const end = () => {
        this.pending.delete(work);
        this.rejections.delete(reject);
      };
      work.finally(end).then(resolve, reject);
    });
  }

  /** Waits for `grace` milliseconds at the most, and rejects with `reason` what is not over by then. */
  async end(grace: number, reason: Error): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<void>((resolve) => (timer = setTimeout(resolve, grace)));
    await Promise.race([Promise.allSettled(this.pending), expired]);
    clearTimeout(timer);
    for (const reject of this.rejections) reject(reason);
  }
}

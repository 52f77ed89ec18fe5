/** What the workers of one process have, of whatever queues: what kills the process takes all of that along. */
export class Occupancy {
  private readonly workers = new Set<() => boolean>();

  /** Counts a worker in, as long as it is not idle. Returns how it leaves. */
  enter(isIdle: () => boolean): () => void {
    this.workers.add(isIdle);
    return () => void this.workers.delete(isIdle);
  }

  get isEmpty(): boolean {
    for (const isIdle of this.workers) if (!isIdle()) return false;
    return true;
  }
}

interface ClaimedId {
  readonly id: string;
  readonly claimId: string;
}

/** The claims of this process that still have unsettled jobs: what the heartbeat renews. */
export class ClaimBook {
  private readonly unsettled = new Map<string, Set<string>>();
  private readonly ending = new Set<string>();

  open(claimId: string, jobIds: readonly string[]): void {
    this.unsettled.set(claimId, new Set(jobIds));
  }

  get isEmpty(): boolean {
    return this.unsettled.size === 0;
  }

  claimIds(): string[] {
    return [...this.unsettled.keys()];
  }

  /** Marks and returns the claims that end when these jobs are settled. They are beaten until then, for the write may fail. */
  markEnding(jobs: readonly ClaimedId[]): string[] {
    const settling = new Map<string, number>();
    for (const { claimId } of jobs) settling.set(claimId, (settling.get(claimId) ?? 0) + 1);
    const ending = [...settling]
      .filter(([claimId, count]) => this.unsettled.get(claimId)?.size === count)
      .map(([id]) => id);
    for (const claimId of ending) this.ending.add(claimId);
    return ending;
  }

  /** Strikes out jobs whose settlement was answered. */
  close(jobs: readonly ClaimedId[]): void {
    for (const { id, claimId } of jobs) {
      const left = this.unsettled.get(claimId);
      left?.delete(id);
      if (left?.size === 0) this.drop(claimId);
    }
  }

  /** Of the claims that a beat did not find, those that are lost. One that is ending may just have been removed by us. */
  lose(missing: readonly string[]): string[] {
    const lost = missing.filter((claimId) => this.unsettled.has(claimId) && !this.ending.has(claimId));
    for (const claimId of lost) this.drop(claimId);
    return lost;
  }

  private drop(claimId: string): void {
    this.unsettled.delete(claimId);
    this.ending.delete(claimId);
  }
}

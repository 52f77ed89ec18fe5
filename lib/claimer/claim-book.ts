interface ClaimedId {
  readonly id: string;
  readonly claimId: string;
}

/** The claims of this process that still have unsettled jobs: what the heartbeat renews. */
export class ClaimBook {
  private readonly unsettled = new Map<string, Set<string>>();

  open(claimId: string, jobIds: readonly string[]): void {
    this.unsettled.set(claimId, new Set(jobIds));
  }

  get isEmpty(): boolean {
    return this.unsettled.size === 0;
  }

  claimIds(): string[] {
    return [...this.unsettled.keys()];
  }

  /** Strikes out jobs whose settlement was answered. Returns the claims that have ended with them. */
  close(jobs: readonly ClaimedId[]): string[] {
    const ended: string[] = [];
    for (const { id, claimId } of jobs) {
      const left = this.unsettled.get(claimId);
      left?.delete(id);
      if (left?.size !== 0) continue;
      this.unsettled.delete(claimId);
      ended.push(claimId);
    }
    return ended;
  }

  /** Of the claims that a beat did not find, those that are lost. One that has ended since is none. */
  lose(missing: readonly string[]): string[] {
    return missing.filter((claimId) => this.unsettled.delete(claimId));
  }
}

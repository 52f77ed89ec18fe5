import { claimBehind, claimJobs, type ClaimRequest, type Place, type Won } from '../sql/claim.js';
import type { Database } from '../sql/database.js';
import type { Names } from '../sql/names.js';
import { Frontier } from './frontier.js';
import { Pace } from './pace.js';

/** Sends a statement that claims so many jobs, and takes in what it wins. */
export type Claim = <W extends Won>(
  limit: number,
  statement: (db: Database, names: Names, request: ClaimRequest) => Promise<W>,
) => Promise<W>;

/** What a claim has found: `short`, `nothing`, `nothing-behind` a place: the last job that was due is claimed; `locked`: rivals hold all. */
export type Found = 'more' | 'short' | 'nothing' | 'nothing-behind' | 'locked';

/** How far the claims of workers with the same entrypoints have come, and what they look at beside rivals. One claims at a time. */
export class Course {
  readonly frontier = new Frontier();
  readonly pace = new Pace();

  claim(limit: number, claim: Claim): Promise<Found> {
    const place = this.frontier.behind;
    return place === undefined ? this.claimMostUrgent(limit, claim) : this.claimBehind(limit, claim, place);
  }

  private async claimMostUrgent(limit: number, claim: Claim): Promise<Found> {
    const { jobs, crowded, took } = await claim(limit, claimJobs);
    if (crowded) {
      if (jobs.length > 0) this.frontier.begin(jobs, took);
      this.pace.crowded(limit);
      return jobs.length > 0 ? 'more' : 'locked';
    }
    if (jobs.length === limit) {
      this.pace.won(jobs);
      this.frontier.begin(jobs, took);
      return 'more';
    }
    if (this.pace.cameShort()) return 'more';
    return jobs.length > 0 ? 'short' : 'nothing';
  }

  private async claimBehind(limit: number, claim: Claim, place: Place): Promise<Found> {
    const { jobs } = await claim(limit, (db, names, request) => claimBehind(db, names, request, place));
    if (jobs.length === limit) {
      this.frontier.advance(jobs);
      return 'more';
    }
    if (this.frontier.cameShort()) return 'more';
    return jobs.length > 0 ? 'short' : 'nothing-behind';
  }
}

import { claimBehind, claimJobs, claimSeen, type ClaimRequest, type Place, type Won } from '../sql/claim.js';
import type { Database } from '../sql/database.js';
import type { Names } from '../sql/names.js';
import { Frontier } from './frontier.js';
import { Pace } from './pace.js';
import type { Bell } from '../waiting/bell.js';
import { Turns } from '../waiting/turns.js';

/** Sends a statement that claims so many jobs, and takes in what it wins. */
export type Claim = <W extends Won>(
  limit: number,
  statement: (db: Database, names: Names, request: ClaimRequest) => Promise<W>,
) => Promise<W>;

/**
 * What a claim has found. `again`: it has not seen everything; `locked`: rivals hold all that it looked at; `short`, `nothing`,
 * `nothing-behind` a place: the last job that was due is claimed.
 */
export type Found = 'more' | 'again' | 'locked' | 'short' | 'nothing' | 'nothing-behind';

// A statement that waits for a lock, or on a dead connection, is none of the others' business.
const LONGEST_TURN = 100;

/**
 * How far the claims of workers with the same entrypoints have come, and what they look at beside rivals. They claim in turn, and settle
 * in turn: they share one event loop, so what they ask for at the same time comes no sooner.
 */
export class Course {
  readonly claims = new Turns(LONGEST_TURN);
  readonly settles = new Turns(LONGEST_TURN);
  readonly frontier = new Frontier();
  readonly pace = new Pace();
  private readonly bells = new Set<Bell>();

  /** Has a worker woken when there may be something for any of them. Returns how it leaves. */
  join(wakeUp: Bell): () => void {
    this.bells.add(wakeUp);
    return () => void this.bells.delete(wakeUp);
  }

  wake(): void {
    for (const bell of this.bells) bell.ring();
  }

  claim(limit: number, claim: Claim): Promise<Found> {
    if (this.frontier.seen.length > 0) return this.claimSeen(limit, claim);
    const place = this.frontier.behind;
    return place === undefined ? this.claimMostUrgent(limit, claim) : this.claimBehind(limit, claim, place);
  }

  private async claimSeen(limit: number, claim: Claim): Promise<Found> {
    const ids = this.frontier.seen.map(({ id }) => id);
    const { jobs } = await claim(limit, (db, names, request) => claimSeen(db, names, request, ids));
    this.frontier.wonSeen(jobs, limit);
    return 'again';
  }

  private async claimMostUrgent(limit: number, claim: Claim): Promise<Found> {
    const { jobs, crowded, took } = await claim(limit, claimJobs);
    if (crowded) {
      if (jobs.length > 0) this.frontier.begin(jobs, took);
      this.pace.crowded(limit);
      return jobs.length > 0 ? 'again' : 'locked';
    }
    if (jobs.length === limit) {
      this.pace.won(jobs);
      this.frontier.begin(jobs, took);
      return 'more';
    }
    this.frontier.begin(jobs, took, false);
    if (this.pace.cameShort()) return jobs.length > 0 ? 'more' : 'again';
    return jobs.length > 0 ? 'short' : 'nothing';
  }

  private async claimBehind(limit: number, claim: Claim, place: Place): Promise<Found> {
    const { jobs } = await claim(limit, (db, names, request) => claimBehind(db, names, request, place));
    if (jobs.length === limit) {
      this.frontier.advance(jobs);
      return 'more';
    }
    if (this.frontier.cameShort(jobs)) return 'again';
    return jobs.length > 0 ? 'short' : 'nothing-behind';
  }
}

import type { ClaimedJob } from '../domain/job.js';
import type { Place } from '../sql/claim.js';

/** Milliseconds for which more urgent jobs, and those that were committed late, may be passed by. */
const SHORTEST = 50;
/** Claims from the head of the queue may take a 20th of the time, */
const REST = 20;
const LONGEST = 30_000;
/** and a 4th of it when there is nothing behind the place, or somebody tells of something new. */
const SHORT_REST = 4;
const LONGEST_SHORT = 2_000;

/**
 * How far the claims of a deep queue have come. As long as they win jobs of one entrypoint and priority, the next one goes on
 * behind the last: it need not look past what is dead, which a long transaction anywhere in the database keeps from being removed.
 */
export class Frontier {
  private place: Place | undefined;
  private begunAt = 0;
  private took = 0;
  private until = 0;

  /** Where to go on; `undefined` is the head of the queue. */
  get behind(): Place | undefined {
    return this.rest > 0 ? this.place : undefined;
  }

  /** Milliseconds until the next claim has to be from the head of the queue. */
  get rest(): number {
    return this.place === undefined ? Infinity : Math.max(this.until - performance.now(), 0);
  }

  /** A claim from the head of the queue has won a full batch, in so many milliseconds of the server. */
  begin(jobs: readonly ClaimedJob[], took: number): void {
    this.begunAt = performance.now();
    this.took = took;
    this.until = this.begunAt + Math.max(SHORTEST, Math.min(took * REST, LONGEST));
    this.advance(jobs);
  }

  /** A claim behind the place has won a full batch. */
  advance(jobs: readonly ClaimedJob[]): void {
    const last = jobs.at(-1);
    const isEven = jobs.every(
      ({ entrypoint, priority }) => entrypoint === last?.entrypoint && priority === last.priority,
    );
    if (last === undefined || !isEven) this.forget();
    else this.place = { entrypoint: last.entrypoint, priority: last.priority, after: last.id };
  }

  /** There may be something at the head, or nothing behind the place. Returns whether the next claim looks there. */
  hurry(): boolean {
    this.until = Math.min(this.until, this.begunAt + Math.min(this.took * SHORT_REST, LONGEST_SHORT));
    if (this.rest < SHORTEST) this.forget();
    return this.place === undefined;
  }

  /** Returns whether there was a place. */
  forget(): boolean {
    const hadPlace = this.place !== undefined;
    this.place = undefined;
    return hadPlace;
  }
}

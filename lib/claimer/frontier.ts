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

/** What rivals took of more than so many jobs since the last claim is worth to be left to them next time. */
const WIDE_GAP = 250;
const WIDEST_STRIDE = 1_000_000;
/** How fast that is forgotten where they take less. */
const NARROWING = 0.97;

/**
 * How far the claims of a deep queue have come. As long as they win jobs of one entrypoint and priority, the next one goes on
 * behind the last: it need not look past what is dead, which a long transaction anywhere in the database keeps from being removed.
 */
export class Frontier {
  private place: Place | undefined;
  private begunAt = 0;
  private took = 0;
  private until = 0;
  /** How many ids behind its last job a claim leaves to rivals, so that each walks in a lane of its own. */
  private stride = 0;
  /** Is another one when there was a full batch at the head, or the place is given up: who saw nothing behind it looks again. */
  round = 0;

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
    this.round++;
    this.begunAt = performance.now();
    this.took = took;
    this.until = this.begunAt + Math.max(SHORTEST, Math.min(took * REST, LONGEST));
    // By chance, as rivals are at the head, too.
    this.moveBehind(jobs, this.stride * 2 * Math.random());
  }

  /** A claim behind the place has won a full batch. */
  advance(jobs: readonly ClaimedJob[]): void {
    const ids = jobs.map(({ id }) => Number(id));
    const [first = 0, last = first] = [ids[0], ids.at(-1)];
    const gap = first - Number(this.place?.after);
    // In a queue of many entrypoints ids have gaps without rivals, too.
    const isWide = gap > Math.max(WIDE_GAP, (last - first) / 4);
    this.stride = isWide ? Math.min(this.stride + gap, WIDEST_STRIDE) : this.stride * NARROWING;
    this.moveBehind(jobs, this.stride);
  }

  private moveBehind(jobs: readonly ClaimedJob[], distance: number): void {
    const last = jobs.at(-1);
    const isEven = jobs.every(
      ({ entrypoint, priority }) => entrypoint === last?.entrypoint && priority === last.priority,
    );
    if (last === undefined || !isEven) this.forget();
    else {
      const after = String(BigInt(last.id) + BigInt(Math.floor(distance)));
      this.place = { entrypoint: last.entrypoint, priority: last.priority, after };
    }
  }

  /** A claim behind the place came short. Returns whether the next one looks at the head. */
  cameShort(): boolean {
    if (this.stride < 1) return this.hurry();
    this.stride = Math.floor(this.stride / 2);
    return this.forget();
  }

  /** There may be something at the head. Returns whether the next claim looks there. */
  hurry(): boolean {
    this.until = Math.min(this.until, this.begunAt + Math.min(this.took * SHORT_REST, LONGEST_SHORT));
    if (this.rest < SHORTEST) this.forget();
    return this.place === undefined;
  }

  /** Returns whether there was a place. */
  forget(): boolean {
    const hadPlace = this.place !== undefined;
    this.place = undefined;
    if (hadPlace) this.round++;
    return hadPlace;
  }
}

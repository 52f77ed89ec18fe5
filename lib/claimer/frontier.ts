import { compareIds, type ClaimedJob } from '../domain/job.js';
import type { Place } from '../sql/claim.js';
import type { Head, ReadyJob } from '../sql/head.js';
import { BATCH } from './prefetch.js';

/** Milliseconds for which more urgent jobs, and those that were committed late, may be passed by. */
const SHORTEST = 50;
/** What is looked at the head of the queue may take a 20th of the time, */
const REST = 20;
/** and a 4th of it when there is nothing behind the place, or somebody tells of something new. */
const SHORT_REST = 4;
const LONGEST = 60_000;

/** Where a claim from the head takes so many milliseconds of the server, the head is looked at beside claims behind the place. */
const SLOW = 50;
const QUICK = SLOW - 1;
/** How many jobs a look sees. */
export const SEEN = 1_000;
/** How many entrypoints and priorities have a place then. */
const MOST_PLACES = 8;

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
  /** The first is where to go on. There are others only where claims from the head are slow, for when that comes short. */
  private places: Place[] = [];
  /** The first, as if nothing behind it had been left to rivals. */
  private won: Place | undefined;
  /** How many of the places have come short, one after the other. */
  private shorts = 0;
  private begunAt = 0;
  private took = 0;
  /** The last claim has won a full batch. */
  private isDeep = false;
  private until = 0;
  private isLooking = false;
  /** Something may have come since the look began. */
  private isHurried = false;
  /** Was before the place when it was seen, and is not claimed yet: the most urgent first. */
  seen: readonly ReadyJob[] = [];
  /** There may be more of them than were seen. */
  private areMany = false;
  /** How many ids behind its last job a claim leaves to rivals, so that each walks in a lane of its own. */
  private stride = 0;
  /** Is another one when there was a full batch at the head, or the place is given up: who saw nothing behind it looks again. */
  round = 0;

  /** Where to go on; `undefined` is the head of the queue. */
  get behind(): Place | undefined {
    return this.isSlow || this.rest > 0 ? this.place : undefined;
  }

  /** Milliseconds until the head of the queue has to be looked at, or again when a look gets no answer. */
  get rest(): number {
    if (this.place === undefined) return Infinity;
    const until = this.isLooking ? this.begunAt + LONGEST : this.until;
    return Math.max(until - performance.now(), 0);
  }

  /** There is a place, and claims from the head would hold up what is behind it. */
  get isSlow(): boolean {
    return this.place !== undefined && this.took >= SLOW;
  }

  /**
   * A claim from the head of the queue has won jobs, in so many milliseconds of the server: a full batch, or all there was if it took
   * long.
   */
  begin(jobs: readonly ClaimedJob[], took: number, isFull = true): void {
    if (!isFull && (took < SLOW || jobs.length === 0)) return;
    this.round++;
    this.begunAt = performance.now();
    this.took = took;
    this.isDeep = isFull;
    // There may have been another reason. A look tells soon whether there is much to pass by.
    this.until = this.begunAt + (isFull ? this.pauseFor(Math.min(took, SLOW)) : 0);
    this.places = [];
    // By chance, as rivals are at the head, too.
    if (isFull) this.moveBehind(jobs, this.stride * 2 * Math.random());
    else this.remember(jobs);
  }

  /** Looks at the head of the queue. Returns whether there is something before the place, or may be since. */
  async look(read: () => Promise<Head>): Promise<boolean> {
    const { place } = this;
    this.isLooking = true;
    this.isHurried = false;
    this.begunAt = performance.now();
    try {
      const { jobs, took } = await read();
      // Claims may be slow for want of a processor, which is no reason for more of them.
      if (took !== undefined) this.took = this.isDeep ? Math.max(took, Math.min(this.took, QUICK)) : took;
      if (place !== undefined && this.place !== undefined) this.see(jobs, place);
    } catch (error) {
      this.isHurried = true;
      throw error;
    } finally {
      this.isLooking = false;
      this.until = performance.now() + (this.isHurried ? this.shortPause : this.pauseFor(this.took));
    }
    return this.isHurried || this.seen.length > 0;
  }

  /** @param place that of the time when they were seen */
  private see(jobs: readonly ReadyJob[], place: Place): void {
    const end = jobs.findIndex((job) => isBehind(place, job));
    this.seen = end < 0 ? jobs : jobs.slice(0, end);
    this.areMany = this.seen.length === SEEN;
    if (this.seen.length > 0) this.round++;
  }

  /** A claim of up to `limit` of what was seen has won these. The rest, or what is more urgent, was not there any more. */
  wonSeen(jobs: readonly ClaimedJob[], limit: number): void {
    const last = jobs.at(-1);
    const position = jobs.length < limit ? SEEN : this.seen.findIndex(({ id }) => id === last?.id);
    this.seen = this.seen.slice(position + 1);
    // There may be more.
    if (last === undefined || this.hurry()) return;
    if (!this.areMany) return this.remember(jobs);
    this.places = this.places.filter((place) => !isOf(place, last));
    this.places.unshift(placeOf(last));
    this.moveBehind(jobs, 0);
  }

  /** Has a place behind them, of each kind that had none. */
  private remember(jobs: readonly ReadyJob[]): void {
    const news = jobs.filter((job) => !this.places.some((place) => isOf(place, job)));
    for (const job of news) this.places = [placeOf(job), ...this.places.filter((place) => !isOf(place, job))];
    this.places.length = Math.min(this.places.length, MOST_PLACES);
    if (news.length > 0) this.won = this.place;
  }

  /** A claim behind the place has won a full batch. */
  advance(jobs: readonly ClaimedJob[]): void {
    const ids = jobs.map(({ id }) => Number(id));
    const [first = 0, last = first] = [ids[0], ids.at(-1)];
    const gap = first - Number(this.place?.after);
    // In a queue of many entrypoints ids have gaps without rivals, too.
    const isWide = gap > Math.max(WIDE_GAP, (last - first) / 4);
    this.shorts = 0;
    this.isDeep = true;
    this.stride = isWide ? Math.min(this.stride + gap, WIDEST_STRIDE) : this.stride * NARROWING;
    this.moveBehind(jobs, this.stride);
  }

  private pauseFor(took: number): number {
    const rivals = this.stride / BATCH;
    return Math.max(SHORTEST, Math.min(took * REST * (1 + rivals), LONGEST));
  }

  private get shortPause(): number {
    return Math.min(this.took * SHORT_REST, LONGEST);
  }

  private get place(): Place | undefined {
    return this.places[0];
  }

  private moveBehind(jobs: readonly ReadyJob[], distance: number): void {
    const last = jobs.at(-1);
    if (last === undefined || !isEven(jobs)) return void this.forget();
    this.won = placeOf(last);
    this.places[0] = { ...this.won, after: String(BigInt(last.id) + BigInt(Math.floor(distance))) };
  }

  /** A claim behind the place won no more than these. Returns whether there may be something elsewhere. */
  cameShort(jobs: readonly ClaimedJob[]): boolean {
    this.isDeep = false;
    const isAlone = this.stride < 1;
    this.stride = Math.floor(this.stride / 2);
    if (this.isSlow) return this.turnToNext(jobs) || this.hurry();
    return isAlone ? this.hurry() : this.forget();
  }

  private turnToNext(jobs: readonly ClaimedJob[]): boolean {
    const [place, ...others] = this.places;
    if (place === undefined || this.won === undefined) return false;
    if (jobs.length > 0) this.moveBehind(jobs, 0);
    const isBeyond = jobs.length === 0 && place.after !== this.won.after;
    if (!isBeyond) this.shorts++;
    this.places = isBeyond ? [this.won, ...others] : [...others, this.won];
    this.won = this.place;
    if (isBeyond || this.shorts < this.places.length) return true;
    this.shorts = 0;
    return false;
  }

  /** There may be something at the head. Returns whether the next claim is from there. */
  hurry(): boolean {
    this.isHurried = true;
    this.until = Math.min(this.until, this.begunAt + this.shortPause);
    if (this.rest < SHORTEST && !this.isSlow) this.forget();
    return this.place === undefined;
  }

  /** Returns whether there was a place. */
  forget(): boolean {
    const hadPlace = this.place !== undefined;
    this.places = [];
    this.won = undefined;
    this.shorts = 0;
    this.seen = [];
    if (hadPlace) this.round++;
    return hadPlace;
  }
}

function isEven(jobs: readonly ReadyJob[]): boolean {
  const [first] = jobs;
  return jobs.every(({ entrypoint, priority }) => entrypoint === first?.entrypoint && priority === first.priority);
}

function placeOf({ entrypoint, priority, id }: ReadyJob): Place {
  return { entrypoint, priority, after: id };
}

function isOf({ entrypoint, priority }: Place, job: ReadyJob): boolean {
  return job.entrypoint === entrypoint && job.priority === priority;
}

function isBehind(place: Place, job: ReadyJob): boolean {
  return isOf(place, job) && compareIds(job.id, place.after) > 0;
}

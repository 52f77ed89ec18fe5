// Short beside what the crash itself has cost, and never long for the others.
const PROBATIONS_PER_TIMEOUT = 6;
const LONGEST_PROBATION = 5_000;

// One to let what runs become trusted, one to run suspects.
const PROBATIONS_PER_TURN = 2;

// Who has died with its worker later than its probation was long gets a longer one.
const GROWTH = 4;
const LONGEST_PROBATIONS = 64;

// Suspects that are too many to be run one after the other are let go after this.
const TIMEOUTS_PER_SUSPICION = 10;

/**
 * When this worker stands still for suspects: jobs whose worker died while it ran them, so that any of them may have killed it.
 * They are started one at a time, each when whatever else runs here has done so for a `probation` and is trusted. Until a
 * suspect has ended or is trusted too, nothing is claimed. Suspects and others take turns.
 *
 * Times are those of the caller's clock, in milliseconds.
 */
export class Isolation {
  private readonly probation: number;
  /** After how long a suspect that nobody has started is claimed like any other job. */
  readonly suspicion: number;
  private suspects = false;
  private startUntil = -Infinity;
  private onProbationUntil = -Infinity;

  constructor(heartbeatTimeout: number) {
    this.probation = Math.min(heartbeatTimeout / PROBATIONS_PER_TIMEOUT, LONGEST_PROBATION);
    this.suspicion = heartbeatTimeout * TIMEOUTS_PER_SUSPICION;
  }

  /** For how long a job that was lost so often runs before it is trusted. */
  probationOf(losses: number): number {
    return this.probation * Math.min(GROWTH ** Math.max(losses - 1, 0), LONGEST_PROBATIONS);
  }

  /** Whether suspects are queued. */
  see(suspects: boolean, now: number): void {
    this.suspects = suspects;
    if (!suspects) this.startUntil = -Infinity;
    else if (now >= this.nextTurn) this.takeTurn(now);
  }

  /** When there is nothing else to run. Returns whether suspects are queued. */
  takeTurn(now: number): boolean {
    if (this.suspects) this.startUntil = now + this.turn;
    return this.suspects;
  }

  /** For how long nothing but suspects may be claimed. */
  standstill(now: number): number {
    return Math.max(this.startUntil, this.onProbationUntil, now) - now;
  }

  /** Whether a suspect may start, when all that runs is trusted. */
  mayStart(now: number): boolean {
    return now < this.startUntil;
  }

  started(losses: number, now: number): void {
    this.onProbationUntil = now + this.probationOf(losses);
  }

  /** The last suspect has ended, or is trusted. */
  passed(now: number): void {
    this.onProbationUntil = Math.min(this.onProbationUntil, now);
  }

  /** How long until it is the turn of suspects; `Infinity` when there are none, or it is. */
  rest(now: number): number {
    return this.suspects && now >= this.startUntil ? this.nextTurn - now : Infinity;
  }

  private get turn(): number {
    return PROBATIONS_PER_TURN * this.probation;
  }

  private get nextTurn(): number {
    return Math.max(this.startUntil, this.onProbationUntil) + this.turn;
  }
}

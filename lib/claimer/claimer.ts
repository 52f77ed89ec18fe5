import { claimAlone } from '../sql/claim.js';
import { readHead } from '../sql/head.js';
import type { HandOver } from '../sql/insert-claimed.js';
import { Backoff } from '../waiting/backoff.js';
import type { Bell } from '../waiting/bell.js';
import type { ClaimBook } from './claim-book.js';
import type { Claim, Course, Found } from './course.js';
import type { Dispatcher } from './dispatcher.js';
import { SEEN } from './frontier.js';
import { Intake } from './intake.js';
import { Isolation } from './isolation.js';
import { Lookout, type LookoutListener } from './lookout.js';
import { reportError } from './report-error.js';
import { within } from '../waiting/within.js';
import type { WorkerContext } from './worker-context.js';

// Rivals commit within milliseconds.
const CROWDED_FIRST = 4;
const CROWDED_LONGEST = 500;

/** `short` and `nothing`: the last job that was due is claimed. */
type Turn = 'again' | 'short' | 'nothing';

/** Wins jobs for the free slots of its dispatcher. */
export class Claimer {
  private readonly stopped = new AbortController();
  private readonly failing = new Backoff();
  private readonly crowded = new Backoff(CROWDED_FIRST, CROWDED_LONGEST);
  private readonly course: Course;
  /** Of the course, when this worker last looked. */
  private round = 0;
  /** The last claim has seen the last job that was due. */
  private isDry = false;
  /** It waits until there may be something to claim. */
  private isResting = false;
  private readonly isolation: Isolation;
  private readonly intake: Intake;
  readonly lookout: Lookout;
  private readonly leave: () => void;
  private loop: Promise<void> | undefined;

  constructor(
    private readonly context: WorkerContext,
    book: ClaimBook,
    private readonly dispatcher: Dispatcher,
    /** Rung when the queue may have changed. */
    private readonly wakeUp: Bell,
    onLook: LookoutListener['onLook'],
  ) {
    this.course = context.team.courseOf(context.handlers.keys());
    this.isolation = new Isolation(context.options.heartbeatTimeout);
    this.intake = new Intake(context, book, dispatcher);
    // Where that takes long, the lookout doesn't look for what is ready, and the head is looked at instead.
    const { frontier } = this.course;
    this.leave = this.course.join(wakeUp);
    this.lookout = new Lookout(context, this.isolation, {
      isDry: () => this.isDry && !frontier.isSlow,
      onReady: () => wakeUp.ring(),
      onLook: (stale) => {
        if (this.isDry && frontier.isSlow) wakeUp.ring();
        onLook(stale);
      },
    });
  }

  start(): void {
    this.loop ??= this.run();
  }

  /** Claims until nothing is due and nothing runs. Rejects when it can't claim. */
  drain(settled: () => Promise<unknown>): Promise<void> {
    const drained = this.runDry(settled);
    this.loop = drained.catch(() => undefined);
    return drained;
  }

  /** Resolves when no claim is under way any more. */
  async stop(): Promise<void> {
    this.stopped.abort();
    this.leave();
    this.intake.close();
    await this.loop;
  }

  /** Has a job inserted as claimed where it starts at once: this worker knows that nothing is due, and runs nothing. */
  readonly handOver: HandOver = (name, insert) => {
    const mayStart = this.isResting && this.isDry && this.isolation.standstill(performance.now()) === 0;
    return mayStart ? this.intake.handOver(name, insert) : undefined;
  };

  private async runDry(settled: () => Promise<unknown>): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      const { isIdle } = this.dispatcher;
      // What has ended may be due again, once that is written.
      if (isIdle) await settled();
      this.lookout.want();
      const turn = await this.claimOnce(signal);
      const isDrained = turn === 'nothing' && isIdle;
      if (isDrained && !this.lookAtHead()) return;
      // Nothing runs that could free a slot.
      if (turn !== 'again' && !isDrained) await this.waitForSlot(this.context.options.pollInterval, signal);
    }
  }

  private async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      try {
        await this.turn(signal);
        this.failing.reset();
      } catch (error) {
        this.report(error);
        await this.failing.pause(signal);
      }
    }
  }

  private async turn(signal: AbortSignal): Promise<void> {
    const turn = await this.claimOnce(signal);
    // A slot that becomes free is no reason to claim again: the last claim has seen the last job that was due.
    if (turn === 'again') return;
    this.isResting = true;
    await this.wakeUp.wait(Math.min(this.lookout.wait, this.course.frontier.rest), signal);
    this.isResting = false;
  }

  /** Waits when it can't claim yet. */
  private async claimOnce(signal: AbortSignal): Promise<Turn> {
    if (this.dispatcher.wanted === 0) return this.waitForSlot(this.context.options.pollInterval, signal);
    if (this.wakeUp.take()) {
      this.isDry = false;
      this.course.frontier.hurry();
    }
    if (this.course.frontier.rest === 0) this.turnToHead();
    this.followRound();
    if (this.lookout.isDue && (await this.lookout.look())) this.isDry = false;
    if (this.isolation.standstill(performance.now()) > 0) return this.claimAlone(signal);
    if (this.isDry) return this.turnToSuspects();
    const found = await this.course.claims.take(() => this.claimInTurn(signal));
    if (found === 'again') return found;
    if (found === 'locked') return this.makeWay(signal);
    this.crowded.reset();
    if (found === 'more') return 'again';
    this.isDry = true;
    if (found === 'nothing') return this.turnToSuspects();
    return found === 'short' ? 'short' : 'nothing';
  }

  private async claimInTurn(signal: AbortSignal): Promise<Found> {
    // Outcomes may have piled up meanwhile, or suspects been seen.
    const limit = this.dispatcher.wanted;
    if (limit === 0 || signal.aborted || this.isolation.standstill(performance.now()) > 0) return 'again';
    return this.course.claim(limit, this.claim);
  }

  /** The next claim is from there, unless that takes long: then it is looked at beside other claims. */
  private turnToHead(): void {
    const { frontier } = this.course;
    if (!frontier.isSlow) return void frontier.forget();
    const { db, names, handlers } = this.context;
    const looked = frontier.look(() => readHead(db, names, [...handlers.keys()], SEEN));
    void looked.then((mayWin) => mayWin && this.course.wake(), this.missed);
  }

  /** Returns whether that was put off. */
  private lookAtHead(): boolean {
    this.course.frontier.forget();
    return this.followRound();
  }

  /** Whoever of the team looks at the head, this worker has not yet. */
  private followRound(): boolean {
    const isNew = this.round !== this.course.frontier.round;
    this.round = this.course.frontier.round;
    if (isNew) this.isDry = false;
    return isNew;
  }

  private turnToSuspects(): Turn {
    return this.intake.isIdle && this.isolation.takeTurn(performance.now()) ? 'again' : 'nothing';
  }

  /** A job whose worker has died may have killed it, so it starts with nothing beside it that may do so, too. */
  private async claimAlone(signal: AbortSignal): Promise<'again'> {
    const { isolation, dispatcher } = this;
    const standstill = isolation.standstill(performance.now());
    await within(standstill, this.intake.settled(), signal);
    const quietIn = dispatcher.quietIn((losses) => isolation.probationOf(losses));
    if (quietIn > 0) {
      this.lookout.want(); // others may run the rest meanwhile
      return this.waitForSlot(Math.min(quietIn, standstill), signal);
    }
    // Nor must it take with it what has ended and is not written.
    const isWritten = await within(standstill, dispatcher.settled(), signal);
    const now = performance.now();
    isolation.passed(now);
    return isWritten && isolation.mayStart(now) ? this.startSuspect(signal) : 'again';
  }

  private async startSuspect(signal: AbortSignal): Promise<'again'> {
    const { jobs, crowded } = await this.claim(1, claimAlone);
    if (crowded) {
      this.course.pace.crowded(1);
      return this.makeWay(signal);
    }
    const [job] = jobs;
    if (job !== undefined) this.isolation.started(job.losses, performance.now());
    else if (this.dispatcher.isIdle) this.isolation.see(false, performance.now());
    else await this.waitUntilIdle(signal);
    return 'again';
  }

  /** For suspects that start only when nothing else runs, unless others have taken them. */
  private async waitUntilIdle(signal: AbortSignal): Promise<void> {
    await this.lookout.look();
    await this.waitForSlot(this.isolation.standstill(performance.now()), signal);
  }

  /** Rivals hold all that it looked at. */
  private async makeWay(signal: AbortSignal): Promise<'again'> {
    await this.wakeUp.wait(this.crowded.next(), signal);
    return 'again';
  }

  private async waitForSlot(longest: number, signal: AbortSignal): Promise<'again'> {
    await this.dispatcher.freed.wait(longest, signal);
    this.dispatcher.freed.take();
    return 'again';
  }

  private readonly missed = (error: unknown) => {
    this.course.wake(); // somebody else may look
    if (!this.stopped.signal.aborted) this.report(error);
  };

  private readonly report = (error: unknown) => void reportError(this.context, 'claim', error);

  private readonly claim: Claim = (limit, statement) => {
    const { db, names } = this.context;
    const place = this.course.pace.place(limit);
    return this.intake.claim(limit, (claimant) => statement(db, names, { ...claimant, limit, ...place }));
  };
}

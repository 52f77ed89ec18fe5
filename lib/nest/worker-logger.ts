import { isNativeError } from 'node:util/types';
import { Logger } from '@nestjs/common';
import type { WorkerEvent, WorkerObserver } from '../claimer/worker-event.js';
import type { ClaimedJob } from '../domain/job.js';
import type { DissolvedJob } from '../sql/dissolve.js';
import { DEFAULT_QUEUE } from '../tokens.js';

/** Says through Nest's logger what an operator has to know; beside the start, what goes as it should is silent. */
export function logEvents(queue: string): WorkerObserver {
  const logger = loggerOf(queue);
  const logTrouble = troubleLog(logger);
  return guarded((event) => (event.type === 'error' ? logTrouble(event) : logEvent(logger, event)));
}

/** As `logEvents`, of what fails and is tried again outside of a worker. */
export function logTroubles(queue: string): (trouble: Trouble) => void {
  return guarded(troubleLog(loggerOf(queue)));
}

function loggerOf(queue: string): Logger {
  return new Logger(queue === DEFAULT_QUEUE ? 'PgQueue' : `PgQueue:${queue}`);
}

// A logger of the application that throws must not stop its jobs.
function guarded<T>(log: (value: T) => void): (value: T) => void {
  return (value) => {
    try {
      log(value);
    } catch {
      // See above.
    }
  };
}

/** `task` is what failed, as in 'Failed to claim'. */
export interface Trouble {
  readonly task: string;
  readonly error: unknown;
  /** Whether it passes by itself. */
  readonly transient: boolean;
}

function troubleLog(logger: Logger): (trouble: Trouble) => void {
  const isRepeated = rememberRepeats();
  return (trouble) => {
    const error = describeError(trouble.error).replaceAll(/\d+/g, '#');
    if (!isRepeated(`${trouble.task}: ${error}`)) logError(logger, trouble);
  };
}

function logEvent(logger: Logger, event: Exclude<WorkerEvent, { type: 'error' }>): void {
  switch (event.type) {
    case 'ended':
      return logEnd(logger, event);
    case 'started':
      return logger.log(`Runs ${event.entrypoints.join(', ')}; ${event.concurrency} jobs at a time`);
    case 'drain-stopped':
      return logger.warn('A drain was ended early, so there may be jobs left that are due');
    case 'claim-lost':
      return logger.warn(`Claim ${event.claimId} is lost: its heartbeat came too late, its jobs were given to others`);
    case 'refused':
      return logger.warn(
        `What became of ${jobs(event.ids)} is not recorded now: it has been given to others, or was recorded before a connection broke`,
      );
    case 'dissolved':
      for (const line of describeLeftBehind(event.jobs)) logger.warn(line);
      return;
    case 'aborted':
      return logger.warn(`Aborted ${jobs(event.jobs.map(({ id }) => id))} after shutdownTimeout, and queued again`);
    case 'listening':
    case 'claimed':
    case 'settled':
      return;
  }
}

function logError(logger: Logger, { task, error, transient }: Trouble): void {
  if (transient) return logger.warn(`Failed to ${task}, and will try again: ${describeError(error)}`);
  logger.error(
    `Failed to ${task}: ${describeError(error)}. It will fail again until this is put right`,
    stackOf(error),
  );
}

const REPEATED_WITHIN = 60_000;
const REMEMBERED = 100;

// All that a worker does fails every few seconds while the database is down.
function rememberRepeats(): (text: string) => boolean {
  const saidAt = new Map<string, number>();
  return (text) => {
    const now = performance.now();
    if (now < (saidAt.get(text) ?? -Infinity) + REPEATED_WITHIN) return true;
    if (saidAt.size >= REMEMBERED) saidAt.clear();
    saidAt.set(text, now);
    return false;
  };
}

// Node has one error for all addresses of a host, with no message of its own.
function describeError(error: unknown): string {
  return isNativeError(error) && 'errors' in error && Array.isArray(error.errors)
    ? error.errors.map(String).join(', ')
    : String(error);
}

// A line for each worker that is gone, and not for each of its jobs.
function describeLeftBehind(left: readonly DissolvedJob[]): string[] {
  const lost = left.filter(({ outcome }) => outcome !== 'canceled');
  return [...new Set(lost.map(({ worker }) => worker))].map((worker) => {
    const of = (outcome: DissolvedJob['outcome']) =>
      left.filter((job) => job.worker === worker && job.outcome === outcome).map(({ id }) => id);
    const [lost, failed, dropped] = [of('lost'), of('failed'), of('exception')];
    const queued = lost.length === 0 ? [] : [`${jobs(lost)} queued again`];
    const held = failed.length === 0 ? [] : [`${jobs(failed)} held as failed, as it was the last attempt`];
    const gone = dropped.length === 0 ? [] : [`${jobs(dropped)} dropped, as it was the last attempt`];
    return `Worker ${worker} has stopped beating: ${[...queued, ...held, ...gone].join('; ')}`;
  });
}

function logEnd(logger: Logger, { job, outcome, isCompleted }: Extract<WorkerEvent, { type: 'ended' }>): void {
  if (isCompleted === true) {
    if ('error' in outcome) logger.warn(`${attempt(job)} failed after completeWith(): ${outcome.error.message}`);
    return;
  }
  if (outcome.type === 'retried' && outcome.isFree !== true) {
    logger.warn(`${attempt(job)} failed, next in ${outcome.delay} ms: ${outcome.error.message}`);
  }
  if (outcome.type === 'failed') {
    logger.error(
      `${attempt(job)} failed, and it was the last: ${outcome.error.message}`,
      outcome.error.stack ?? undefined,
    );
  }
}

function attempt({ id, entrypoint, attempt: number, maxAttempts }: ClaimedJob): string {
  return `Attempt ${number} of ${maxAttempts} of job ${id} of ${entrypoint}`;
}

const IDS_SHOWN = 10;

function jobs(ids: readonly string[]): string {
  if (ids.length === 1) return `job ${ids[0]}`;
  const more = ids.length > IDS_SHOWN ? ', …' : '';
  return `${ids.length} jobs (${ids.slice(0, IDS_SHOWN).join(', ')}${more})`;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

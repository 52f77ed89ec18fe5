import { Logger } from '@nestjs/common';
import type { WorkerEvent, WorkerObserver } from '../claimer/worker-event.js';
import type { ClaimedJob } from '../domain/job.js';
import { DEFAULT_QUEUE } from '../tokens.js';

/** Says through Nest's logger what an operator has to know; what goes as it should is silent. */
export function logEvents(queue: string): WorkerObserver {
  const logger = new Logger(queue === DEFAULT_QUEUE ? 'PgQueue' : `PgQueue:${queue}`);
  return (event) => logEvent(logger, event);
}

function logEvent(logger: Logger, event: WorkerEvent): void {
  switch (event.type) {
    case 'ended':
      return logEnd(logger, event);
    case 'claim-lost':
      return logger.warn(`Claim ${event.claimId} is lost: its heartbeat came too late, its jobs were given to others`);
    case 'refused':
      return logger.warn(`What became of ${jobs(event.ids)} is not recorded: it has been given to others`);
    case 'dissolved':
      for (const { id, entrypoint, worker, outcome } of event.jobs) {
        const next = outcome === 'failed' ? 'it was its last attempt and it is held as failed' : 'it is queued again';
        logger.warn(`Job ${id} of ${entrypoint} was left behind by worker ${worker}: ${next}`);
      }
      return;
    case 'aborted':
      return logger.warn(
        `${jobs(event.jobs.map(({ id }) => id))} did not end within shutdownTimeout: aborted and queued again`,
      );
    case 'error':
      return logger.error(`Failed to ${event.task}, and will try again: ${String(event.error)}`, stackOf(event.error));
    case 'listening':
    case 'claimed':
    case 'settled':
      return;
  }
}

function logEnd(logger: Logger, { job, outcome }: Extract<WorkerEvent, { type: 'ended' }>): void {
  if (outcome.type === 'retried') {
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

function jobs(ids: readonly string[]): string {
  return ids.length === 1 ? `job ${ids[0]}` : `jobs ${ids.join(', ')}`;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

import { QueueClosedError, WaitTimeoutError } from '../domain/errors.js';
import { check, fields } from '../options-checks.js';
import { RUN_CHECKS } from '../options.js';
import type { JobEnd } from '../sql/completion.js';
import { AbortListeners } from '../waiting/abort-listeners.js';
import { checkId } from './job-id.js';
import type { JobCompletion, PgQueueCompletion, WaitOptions } from './completion.js';
import { EndWatch, type EndWatchContext, type Waiter } from './end-watch.js';

export interface CompletionContext extends EndWatchContext {
  readonly queue: string;
}

/** Completion over SQL. */
export class SqlCompletion implements PgQueueCompletion {
  private readonly watch: EndWatch;
  private readonly aborts = new AbortListeners();
  private closing: Promise<void> | undefined;

  constructor(private readonly context: CompletionContext) {
    this.watch = new EndWatch(context);
  }

  async waitFor(id: string, given: WaitOptions = {}): Promise<JobCompletion> {
    checkId(id, 'waitFor.id');
    const options = checkWait(given, 'waitFor');
    if (this.closing !== undefined) throw new QueueClosedError(this.context.queue);
    options.signal?.throwIfAborted();
    return toCompletion(await this.wait(id, options));
  }

  /** Ends all waits; from now on a typed error answers. */
  close(): Promise<void> {
    this.closing ??= this.watch.stop(new QueueClosedError(this.context.queue));
    return this.closing;
  }

  private async wait(id: string, { timeout, signal }: WaitOptions): Promise<JobEnd> {
    const { ended, ...waiter } = createWaiter();
    const abort = () => waiter.reject(signal?.reason);
    const expire = () => waiter.reject(new WaitTimeoutError(id, timeout ?? 0));
    const timer = timeout === undefined ? undefined : setTimeout(expire, timeout);
    if (signal !== undefined) this.aborts.add(signal, abort);
    this.watch.add(id, waiter);
    try {
      return await ended;
    } finally {
      clearTimeout(timer);
      if (signal !== undefined) this.aborts.remove(signal, abort);
      this.watch.remove(id, waiter);
    }
  }
}

function createWaiter(): Waiter & { readonly ended: Promise<JobEnd> } {
  let resolve!: Waiter['resolve'];
  let reject!: Waiter['reject'];
  const ended = new Promise<JobEnd>((...settle) => ([resolve, reject] = settle));
  return { ended, resolve, reject };
}

// Each waiter gets a result of its own, to change as it likes.
function toCompletion({ status, result, error }: JobEnd): JobCompletion {
  return {
    status,
    ...(result === null ? {} : { result: JSON.parse(result) as unknown }),
    ...(error === null ? {} : { error }),
  };
}

// One of another realm, or of a polyfill, fails instanceof.
const isSignal = (value: unknown): value is AbortSignal =>
  typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value;
const checkWait = fields<WaitOptions>({ timeout: RUN_CHECKS.timeout, signal: check(isSignal, 'an AbortSignal') });

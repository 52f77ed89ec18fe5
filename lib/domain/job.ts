/** A job as its handler gets it. */
export interface Job<Payload = unknown> {
  /** A bigint in decimal digits, so that no id loses precision. */
  readonly id: string;
  readonly entrypoint: string;
  /** What was enqueued, through JSON and back. `undefined` when nothing was given. */
  readonly payload: Payload;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Higher runs first. */
  readonly priority: number;
  readonly headers: JobHeaders;
  /** What keeps a second job of that entrypoint from being queued. */
  readonly dedupeKey: string | undefined;
  readonly createdAt: Date;
  /** The time from which this attempt was due. */
  readonly runAt: Date;
}

/** Any JSON that travels beside the payload, such as a trace context. */
export type JobHeaders = Readonly<Record<string, unknown>>;

/** A claimed row: a job whose JSON is not parsed yet. */
export interface ClaimedJob {
  readonly id: string;
  readonly claimId: string;
  readonly entrypoint: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly priority: number;
  readonly payload: string | null;
  readonly headers: string | null;
  readonly dedupeKey: string | null;
  /** How often a worker has died, or fallen silent, while it had this job. */
  readonly losses: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Milliseconds since 1970. */
  readonly runAt: number;
}

/** As the numbers that they are. */
export function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}

/** Throws what `JSON.parse` throws. */
export function parseJob(row: ClaimedJob): Job {
  const createdAt = new Date(row.createdAt);
  return {
    id: row.id,
    entrypoint: row.entrypoint,
    payload: row.payload === null ? undefined : (JSON.parse(row.payload) as unknown),
    attempt: row.attempt,
    maxAttempts: row.maxAttempts,
    priority: row.priority,
    headers: row.headers === null ? {} : (JSON.parse(row.headers) as JobHeaders),
    dedupeKey: row.dedupeKey ?? undefined,
    createdAt,
    runAt: row.runAt === row.createdAt ? createdAt : new Date(row.runAt),
  };
}

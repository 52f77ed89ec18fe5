import { createHash } from 'node:crypto';

/** Every name of the queue's schema, quoted and qualified, so that no search_path matters. */
export interface Names {
  /** As it was given, to be sent as a parameter. */
  readonly schemaName: string;
  readonly schema: string;
  readonly job: string;
  readonly claim: string;
  readonly jobLog: string;
  readonly entrypoint: string;
  /** What was counted, a row for each minute and entrypoint. */
  readonly statistic: string;
  /** What was counted since, a row for each write. */
  readonly statisticDelta: string;
  readonly migration: string;
  /** The NOTIFY channel of workers, unquoted. */
  readonly channel: string;
  /** That of those who wait for the end of a job. */
  readonly endChannel: string;
}

export function createNames(schemaName: string): Names {
  const schema = quoteIdentifier(schemaName);
  return Object.freeze({
    schemaName,
    schema,
    job: `${schema}."job"`,
    claim: `${schema}."claim"`,
    jobLog: `${schema}."job_log"`,
    entrypoint: `${schema}."entrypoint"`,
    statistic: `${schema}."statistic"`,
    statisticDelta: `${schema}."statistic_delta"`,
    migration: `${schema}."migration"`,
    channel: channelOf('pgqueue', schemaName),
    endChannel: channelOf('pgqueue-end', schemaName),
  });
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The payload of a notification to workers: claimed jobs were canceled. */
export const CANCELED = 'canceled';
/** Not only what can be claimed at once has changed. All others have none. */
export const LATER = 'later';

export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const CHANNEL_BYTES = 63;

// LISTEN cuts off a longer channel, pg_notify refuses it.
function channelOf(prefix: string, schemaName: string): string {
  const channel = `${prefix}:${schemaName}`;
  if (Buffer.byteLength(channel) <= CHANNEL_BYTES) return channel;
  return `${prefix}:${createHash('sha256').update(schemaName).digest('hex').slice(0, 32)}`;
}

/** A statement whose text is built once for each schema. */
export function statement(build: (names: Names) => string): (names: Names) => string {
  const texts = new WeakMap<Names, string>();
  return (names) => {
    const text = texts.get(names) ?? build(names);
    texts.set(names, text);
    return text;
  };
}

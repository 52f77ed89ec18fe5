import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createSystem } from '../systems/index.js';
import type { Contestant } from '../plan/run-spec.js';

/** What the processes of claimers are told, and what they answer to it. */
type Order =
  { readonly type: 'start' } | { readonly type: 'count' } | { readonly type: 'stop' } | { readonly type: 'close' };

interface Setting {
  readonly system: string;
  readonly options: object;
  readonly url: string;
  readonly claimers: number;
}

export type Fleet = Awaited<ReturnType<typeof startClaimers>>;

/** Starts processes with some workers in each; all of them know each other only through the database. */
export async function startClaimers(
  url: string,
  { system, options }: Pick<Contestant, 'system' | 'options'>,
  processes: number,
  claimers: number,
) {
  const setting: Setting = { system, options, url, claimers };
  const children = Array.from({ length: processes }, () => fork(__filename, [JSON.stringify(setting)]));
  await Promise.all(children.map(answerOf));
  const tell = (type: Order['type']) => Promise.all(children.map((child) => ask(child, { type })));
  return {
    start: () => tell('start'),
    /** Resolves with the jobs of each claimer, so far. */
    count: async () => (await tell('count')).flat(),
    /** Resolves with the jobs of each claimer. */
    stop: async () => (await tell('stop')).flat(),
    close: async () => {
      const exits = children.map((child) => once(child, 'exit'));
      await tell('close');
      await Promise.all(exits);
    },
    /** Without a word to them. */
    signal: (signal: NodeJS.Signals) => children.forEach((child) => child.kill(signal)),
  };
}

async function ask(child: ChildProcess, order: Order): Promise<number[]> {
  const answer = answerOf(child);
  child.send(order);
  return answer;
}

async function answerOf(child: ChildProcess): Promise<number[]> {
  const exit = new AbortController();
  const died = once(child, 'exit', { signal: exit.signal }).then(() => {
    throw new Error('A process of claimers has died');
  });
  try {
    const [answer] = (await Promise.race([once(child, 'message'), died])) as [number[]];
    return answer;
  } finally {
    died.catch(() => undefined);
    exit.abort();
  }
}

async function runClaimers({ system, options, url, claimers }: Setting): Promise<void> {
  const systems = await Promise.all(Array.from({ length: claimers }, () => createSystem(system, url, options)));
  // One after the other: peers' migrations may run here, too.
  for (const each of systems) await each.open();
  const counts = systems.map(() => 0);
  let stops: (() => Promise<unknown>)[] = [];
  const obey: Record<Order['type'], () => Promise<unknown>> = {
    start: async () => {
      stops = await Promise.all(
        systems.map((each, nth) => each.startWorker(() => (counts[nth] = (counts[nth] ?? 0) + 1))),
      );
    },
    count: () => Promise.resolve(),
    stop: () => Promise.all(stops.map((stop) => stop())),
    close: () => Promise.all(systems.map((each) => each.close())),
  };
  process.on('message', ({ type }: Order) => {
    void obey[type]().then(() => {
      process.send?.(counts);
      if (type === 'close') process.disconnect();
    });
  });
  process.send?.([]);
}

if (require.main === module) void runClaimers(JSON.parse(process.argv[2] ?? '') as Setting);

import { spawnWorker, type WorkerProcess } from './spawn-worker.js';
import type { TestDatabase } from './test-database.js';

export interface Fleet {
  readonly members: readonly WorkerProcess[];
  /** How many have died so far. */
  readonly deaths: number;
  /** Lets all of them end. Rejects when one has ended by itself before. */
  stop(): Promise<void>;
}

/**
 * Worker processes of one script, each started again whenever it is killed, as a supervisor does. Of a dead one the claims look
 * silent for long at once. The script names its worker `worker:<pid>`, further ones `worker:<pid>#<n>`, and stops at SIGTERM.
 */
export function startFleet(database: TestDatabase, size: number, script: string, env: NodeJS.ProcessEnv): Fleet {
  const members: WorkerProcess[] = [];
  let deaths = 0;
  let isStopping = false;
  const run = async (index: number) => {
    for (;;) {
      const member = (members[index] = spawnWorker(script, { DATABASE_URL: database.url, ...env }));
      const { code } = await member.exited;
      if (isStopping) return;
      if (code !== null) throw new Error(`A worker has ended by itself, with code ${code}`);
      deaths++;
      await database.query(
        `update pgqueue.claim set heartbeat_at = '-infinity' where split_part(worker, '#', 1) = $1`,
        [`worker:${member.pid}`],
      );
    }
  };
  const runs = Promise.all(Array.from({ length: size }, (_, index) => run(index)));
  runs.catch(() => undefined);
  const stop = async () => {
    isStopping = true;
    for (const member of members) member.kill('SIGTERM');
    await runs;
  };
  return {
    members,
    stop,
    get deaths() {
      return deaths;
    },
  };
}

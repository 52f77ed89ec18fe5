import { DataSource } from 'typeorm';
import { SqlCompletion } from '../../../lib/client/sql-completion.js';
import { primaryPool } from '../../../lib/sql/connections.js';
import { type Database, readCommittedDatabase } from '../../../lib/sql/database.js';
import { type Listen, listenThrough } from '../../../lib/sql/listen.js';
import {
  createTestDatabase,
  deferred,
  eventually,
  names,
  type TestDatabase,
  useWorkerGround,
} from '../../support/index.js';

export interface TestCompletion {
  readonly completion: SqlCompletion;
  readonly dataSource: DataSource;
  /** The statements that looked for ends so far, by the number of jobs that each looked at. */
  readonly looks: number[];
  readonly troubles: { readonly task: string; readonly error: unknown }[];
  /** Resolves when LISTEN has taken effect for the nth time. */
  listening(times?: number): Promise<void>;
}

interface TestCompletionOptions {
  url?: string;
  notify?: boolean;
  listenUrl?: string;
}

/** A worker's ground, and completions without Nest that tell what they do. */
export function useCompletionGround(open: () => Promise<TestDatabase> = createTestDatabase) {
  const closers: (() => Promise<unknown>)[] = [];
  // Before the ground drops the database.
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });
  const ground = useWorkerGround(open);
  const complete = async (options: TestCompletionOptions = {}): Promise<TestCompletion> => {
    const { url = ground.database.url, notify = true, listenUrl } = options;
    const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
    const looks: number[] = [];
    const troubles: TestCompletion['troubles'] = [];
    const { listen, listening } = watchListen(listenThrough(dataSource, listenUrl));
    const completion = new SqlCompletion({
      queue: 'default',
      db: counting(
        readCommittedDatabase(() => primaryPool(dataSource)),
        looks,
      ),
      names,
      listen: notify ? listen : undefined,
      onTrouble: (task, error) => troubles.push({ task, error }),
    });
    closers.push(async () => {
      await completion.close();
      await dataSource.destroy();
    });
    return { completion, dataSource, looks, troubles, listening };
  };
  /** Resolves when the wait for a job has been noted, and so holds no lock any more. */
  const noted = async (id: string) => {
    const sql = 'select from pgqueue.job where id = $1 and awaited';
    await eventually(async () => expect(await ground.database.query(sql, [id])).toHaveLength(1));
  };
  return { ground, complete, noted };
}

function counting(db: Database, looks: number[]): Database {
  const query: Database['query'] = (text, values = [], limits) => {
    looks.push((values[0] as string[]).length);
    return db.query(text, values, limits);
  };
  return { ...db, query };
}

function watchListen(inner: Listen) {
  let count = 0;
  const waiting = new Set<() => void>();
  const listen: Listen = (request) => {
    const onListening = () => {
      request.onListening();
      count++;
      waiting.forEach((look) => look());
    };
    return inner({ ...request, onListening });
  };
  const listening = (times = 1) => {
    const { promise, resolve } = deferred();
    const look = () => {
      if (count >= times) resolve();
    };
    waiting.add(look);
    look();
    return promise.finally(() => waiting.delete(look));
  };
  return { listen, listening };
}

import { ClaimBook } from '../../lib/claimer/claim-book.js';
import { Claimer } from '../../lib/claimer/claimer.js';
import { Dispatcher } from '../../lib/claimer/dispatcher.js';
import { Settler } from '../../lib/claimer/settler.js';
import { Team } from '../../lib/claimer/team.js';
import type { WorkerContext } from '../../lib/claimer/worker-context.js';
import type { WorkerEvent } from '../../lib/claimer/worker-event.js';
import { resolveOptions } from '../../lib/options.js';
import { type Database, poolDatabase } from '../../lib/sql/database.js';
import { Bell } from '../../lib/waiting/bell.js';
import { deferred, names, useWorkerGround } from '../support/index.js';

const isClaim = (text: string) => text.includes('ids as materialized');
const LIMIT = 2; // of the values of a claim

class FullDispatcher extends Dispatcher {
  isFull = false;

  override get wanted(): number {
    return this.isFull ? 0 : super.wanted;
  }
}

describe('a claimer', () => {
  const ground = useWorkerGround();

  it('claims nothing when outcomes have piled up while it looked out, and goes on when they are written', async () => {
    const ran = deferred();
    const freed = new Bell();
    const limits: unknown[] = [];
    const events: WorkerEvent[] = [];
    const full = deferred();
    const real = poolDatabase(() => ground.database.pool);
    const db: Database = {
      ...real,
      query: async (text, values, limit) => {
        if (isClaim(text)) limits.push(values?.[LIMIT]);
        const rows = await real.query(text, values, limit);
        if (limits.length === 0) dispatcher.isFull = true;
        full.resolve();
        return rows;
      },
    };
    const { worker, defaults, notify, retention } = resolveOptions({ worker: { pollInterval: 60_000 } });
    if (worker === false) throw new Error('There is no worker');
    const context: WorkerContext = {
      db,
      names,
      team: new Team(),
      options: { ...worker, notify, retention },
      handlers: new Map([['work', { entrypoint: 'work', ...defaults, run: () => ran.resolve() }]]),
      label: 'test',
      observe: (event) => events.push(event),
    };
    const book = new ClaimBook();
    const settler = new Settler(context, book, { onRequeued: () => undefined, onWritten: () => undefined });
    const dispatcher = new FullDispatcher(context, settler, freed);
    const claimer = new Claimer(context, book, dispatcher, new Bell(), () => undefined);
    await ground.queue.add('work');
    claimer.start();
    await full.promise;
    await new Promise((resolve) => setImmediate(resolve)); // what follows the look has been decided
    dispatcher.isFull = false;
    freed.ring();
    await ran.promise;
    await claimer.stop();
    await settler.flush();
    expect(limits).not.toContain(0);
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
  });
});

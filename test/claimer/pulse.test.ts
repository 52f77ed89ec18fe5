import { setTimeout as delay } from 'node:timers/promises';
import { Bell } from '../../lib/waiting/bell.js';
import { ClaimBook } from '../../lib/claimer/claim-book.js';
import { Pulse } from '../../lib/claimer/pulse.js';
import type { WorkerContext } from '../../lib/claimer/worker-context.js';
import type { Database } from '../../lib/sql/database.js';
import { eventually, names } from '../support/index.js';

const HEARTBEAT_TIMEOUT = 800;
const GRACE = HEARTBEAT_TIMEOUT / 4;

type Statement = 'beat' | 'dissolve' | 'failed';

describe('a worker that can reach the database', () => {
  let isDown: boolean;
  let log: { readonly statement: Statement; readonly at: number }[];
  let pulse: Pulse;
  let book: ClaimBook;
  beforeEach(() => {
    isDown = false;
    log = [];
    const query: Database['query'] = (text) => {
      const statement = isDown ? 'failed' : text.includes('stale') ? 'dissolve' : 'beat';
      log.push({ statement, at: performance.now() });
      if (isDown) return Promise.reject(new Error('connect ECONNREFUSED'));
      return Promise.resolve(statement === 'beat' ? [{ claim_id: 'claim', canceled: null }] : []);
    };
    const context = {
      db: { query, transaction: (work: (db: unknown) => unknown) => work({ query }) },
      names,
      options: { heartbeatTimeout: HEARTBEAT_TIMEOUT, pollInterval: 10, notify: false },
      observe: () => undefined,
    };
    const listener = { onLost: () => undefined, onFreed: () => undefined, onCanceled: () => undefined };
    book = new ClaimBook();
    pulse = new Pulse(context as unknown as WorkerContext, book, listener, new Bell());
    pulse.start();
  });
  afterEach(() => pulse.stop());

  const count = (wanted: Statement) => log.filter(({ statement }) => statement === wanted).length;

  it('looks for the claims of the dead each time after it has beaten, at once when it starts', async () => {
    await eventually(() => count('dissolve') >= 1);
    book.open('claim', ['1']);
    await eventually(() => count('beat') >= 1);
    log = [];
    await eventually(() => count('dissolve') >= 3 && count('beat') >= 3);
    expect(
      log
        .slice(log[0]?.statement === 'beat' ? 0 : 1)
        .slice(0, 4)
        .map(({ statement }) => statement),
    ).toEqual(Array(2).fill(['beat', 'dissolve']).flat());
  });

  it('has nothing to beat without claims, and leaves looking to who does', async () => {
    await eventually(() => count('dissolve') >= 3);
    expect(count('beat')).toBe(0);
    const looks = setInterval(() => pulse.looked(false), 2);
    await eventually(() => log.length > 0);
    const before = log.length;
    await delay(50);
    expect(log.length - before).toBeLessThanOrEqual(1);
    clearInterval(looks);
    pulse.looked(true);
    await eventually(() => log.length > before + 1);
  });

  it('again, leaves others the time to beat before it takes them for dead', async () => {
    await eventually(() => count('dissolve') >= 1);
    isDown = true;
    await eventually(() => count('failed') >= 3);
    log = [];
    isDown = false;
    await eventually(() => count('dissolve') >= 1);
    const first = (wanted: Statement) => log.find(({ statement }) => statement === wanted)!.at;
    expect(first('dissolve') - first('beat')).toBeGreaterThanOrEqual(GRACE - 1);
  });
});

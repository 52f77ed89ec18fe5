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
  beforeEach(() => {
    isDown = false;
    log = [];
    const query: Database['query'] = (text) => {
      const statement = isDown ? 'failed' : text.includes('stale') ? 'dissolve' : 'beat';
      log.push({ statement, at: performance.now() });
      return isDown ? Promise.reject(new Error('connect ECONNREFUSED')) : Promise.resolve([]);
    };
    const context = {
      db: { query },
      names,
      options: { heartbeatTimeout: HEARTBEAT_TIMEOUT, pollInterval: 10, notify: false },
      observe: () => undefined,
    };
    const listener = { onLost: () => undefined, onFreed: () => undefined, onCanceled: () => undefined };
    pulse = new Pulse(context as unknown as WorkerContext, new ClaimBook(), listener, new Bell());
    pulse.start();
  });
  afterEach(() => pulse.stop());

  const count = (wanted: Statement) => log.filter(({ statement }) => statement === wanted).length;

  it('looks for the claims of the dead each time after it has beaten, at once when it starts', async () => {
    await eventually(() => count('dissolve') >= 3);
    expect(log.slice(0, 6).map(({ statement }) => statement)).toEqual(Array(3).fill(['beat', 'dissolve']).flat());
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

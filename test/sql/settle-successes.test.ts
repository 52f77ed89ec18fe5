import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { poolDatabase } from '../../lib/sql/database.js';
import { settleJobs, type Settlement } from '../../lib/sql/settle.js';
import {
  type Claim,
  createTestDatabase,
  eventually,
  FAILED,
  names,
  onPool,
  openSession,
  type Queue,
  SUCCESSFUL,
  takeAway,
  type TestDatabase,
} from '../support/index.js';

const FOREIGN: Settlement = { id: '999999', claimId: randomUUID(), outcome: FAILED, duration: 1 };

// Each is a statement of its own.
describe.each([
  ['by themselves', [], false],
  ['by themselves where jobs are rarely locked', [], true],
  ['beside another outcome', [FOREIGN], false],
])('successes that return nothing, settled %s,', (_, others: Settlement[], isQuick: boolean) => {
  let database: TestDatabase;
  let queue: Queue;
  beforeEach(async () => {
    database = await createTestDatabase();
    queue = onPool(database);
  });
  afterEach(() => database.drop());

  const successOf = ({ claimId }: Claim, id: string): Settlement => ({
    id,
    claimId,
    outcome: SUCCESSFUL,
    duration: Number(id) / 1_000,
  });
  const settle = async (settlements: readonly Settlement[], logSuccess = true) => {
    const context = { worker: 'test', notify: true, logSuccess, isQuick };
    const { jobs } = await settleJobs(
      poolDatabase(() => database.pool),
      names,
      [...settlements, ...others],
      context,
    );
    return jobs.map(({ id, outcome }) => `${id} ${outcome ?? 'is locked'}`);
  };
  const log = () =>
    database.query<object>(
      'select job_id as id, claim_id, duration, attempt, entrypoint from pgqueue.job_log order by 1',
    );
  /** One after the other, as none waits for long. */
  const waitsForLock = async (tries = 1_000): Promise<void> => {
    const waiting = await database.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if (waiting.length === 0 && tries > 0) await waitsForLock(tries - 1);
  };
  const left = async () =>
    (await database.query<{ id: string }>('select id from pgqueue.job order by id')).map(({ id }) => id);

  it('are logged each with its own duration, in whatever order they come, of ids of any length', async () => {
    await database.query('alter sequence pgqueue.job_id_seq restart with 95');
    await queue.add(...Array.from({ length: 15 }, (__, nth) => (nth % 3 === 0 ? 'work' : 'other')));
    const entrypoints = ['work', 'other'];
    const [one, two] = [await queue.claim(8, { entrypoints }), await queue.claim(7, { entrypoints })];
    const settlements = [...one.ids.map((id) => successOf(one, id)), ...two.ids.map((id) => successOf(two, id))];
    const shuffled = settlements.map((each, nth) => settlements[(nth * 7 + 3) % settlements.length] ?? each);
    expect(await settle(shuffled)).toEqual(shuffled.map(({ id }) => `${id} successful`));
    expect(await log()).toEqual(
      settlements.map(({ id, claimId, duration }) => ({
        id,
        claim_id: claimId,
        duration,
        attempt: 1,
        entrypoint: (Number(id) - 95) % 3 === 0 ? 'work' : 'other',
      })),
    );
    expect(await left()).toEqual([]);
    expect(
      await database.query('select entrypoint, successful, failed from pgqueue.statistic_delta order by entrypoint'),
    ).toEqual([
      { entrypoint: 'other', successful: 10, failed: 0 },
      { entrypoint: 'work', successful: 5, failed: 0 },
    ]);
  });

  it('are refused where the job belongs to another claim of the same batch', async () => {
    await queue.add('work', 'work', 'work');
    const [one, two] = [await queue.claim(1), await queue.claim(2)];
    const [a, b, c] = [one.ids[0]!, two.ids[0]!, two.ids[1]!];
    expect(await settle([successOf(two, a), successOf(one, b), successOf(two, c)])).toEqual([`${c} successful`]);
    expect(await left()).toEqual([a, b]);
  });

  it('are written for the claim that has the job, and not for the one that has lost it, though both come at once', async () => {
    const [id = ''] = await queue.add('work');
    const lost = await queue.claim(1);
    await takeAway(database);
    const current = await queue.claim(1, { alone: true });
    expect(await settle([successOf(lost, id), successOf(current, id)])).toEqual([`${id} successful`]);
    expect(await database.query(`select claim_id from pgqueue.job_log where status = 'successful'`)).toEqual([
      { claim_id: current.claimId },
    ]);
  });

  it('are told apart when they are locked, gone and written', async () => {
    const [locked = '', gone = '', written = ''] = await queue.add('work', 'work', 'work');
    const claim = await queue.claim(3);
    await database.query('delete from pgqueue.job where id = $1', [gone]);
    const user = await openSession(database);
    await user.begin();
    await user.db.query('select from pgqueue.job where id = $1 for update', [locked]);
    const settlements = claim.ids.map((id) => successOf(claim, id));
    expect(await settle(settlements)).toEqual([`${locked} is locked`, `${written} successful`]);
    await user.rollback();
    await user.end();
    expect(await settle(settlements)).toEqual([`${locked} successful`]);
    expect(await left()).toEqual([]);
  });

  it('are not written for a claim that loses its job at that time', async () => {
    const [kept = '', taken = ''] = await queue.add('work', 'work');
    const claim = await queue.claim(2);
    const user = await openSession(database);
    await user.begin();
    await user.db.query('update pgqueue.job set claim_id = $2 where id = $1', [taken, randomUUID()]);
    const settled = settle(claim.ids.map((id) => successOf(claim, id)));
    await Promise.race([settled, waitsForLock()]);
    await user.commit();
    await user.end();
    const answers = await settled;
    // As it seemed when the statement began.
    expect(answers).toContain(`${kept} successful`);
    expect(answers).not.toContain(`${taken} successful`);
    expect(await settle([successOf(claim, taken)])).toEqual([]);
    expect(await left()).toEqual([taken]);
  });

  it('leave nothing set on the connection', async () => {
    await queue.add('work');
    const claim = await queue.claim(1);
    const session = await openSession(database);
    const settlements = claim.ids.map((id) => successOf(claim, id));
    await settleJobs(session.db, names, settlements, { worker: 'test', notify: true, isQuick });
    expect(await session.db.query('show lock_timeout')).toEqual([{ lock_timeout: '0' }]);
    await session.end();
  });

  it('stay successes when they were to be canceled', async () => {
    const [id] = await queue.add('work');
    const claim = await queue.claim(1);
    await database.query('update pgqueue.job set cancel_requested = true');
    expect(await settle(claim.ids.map((each) => successOf(claim, each)))).toEqual([`${id} successful`]);
    expect(await database.query('select status from pgqueue.job_log')).toEqual([{ status: 'successful' }]);
  });

  it('are logged and told to those who wait for them, also where no others are kept', async () => {
    const [plain, awaited] = await queue.add('work', 'work');
    await database.query('update pgqueue.job set awaited = true where id = $1', [awaited]);
    const listener = new Client({ connectionString: database.url });
    await listener.connect();
    const heard: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload));
    await listener.query(`listen "${names.endChannel}"`);
    const claim = await queue.claim(2);
    expect(
      await settle(
        claim.ids.map((id) => successOf(claim, id)),
        false,
      ),
    ).toEqual([`${plain} successful`, `${awaited} successful`]);
    expect(await log()).toMatchObject([{ id: awaited }]);
    await eventually(() => expect(heard).toEqual([awaited]));
    await listener.end();
  });
});

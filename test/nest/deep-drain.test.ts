import { Injectable } from '@nestjs/common';
import { Entrypoint, type Job, PgQueueAdmin, PgQueueWorker } from 'nestjs-pgqueue';
import { openSession, queueOn } from '../support/index.js';
import { useGround } from './support/index.js';

const DEEP = 5_000;
const MIDWAY = 1_000;
const POLL_NEVER = 60_000;

// So that a claim from the head is put off, as it is behind thousands of dead entries, and ends after all that runs.
const SLOW_CLAIMS = `
  create function public.slow() returns trigger language plpgsql as '
    begin
      if current_query() like ''%ids as materialized%'' then perform pg_sleep(0.05); end if;
      return null;
    end';
  create trigger slow before update on pgqueue.job execute function public.slow()`;

describe.each([
  ['quick', ''],
  ['slow', SLOW_CLAIMS],
])('the drain of a deep queue whose claims are %s', (_, prepare) => {
  const ground = useGround();
  beforeEach(() => ground.database.query(prepare));

  /** An application that does something in the middle of the drain. */
  async function boot(midway: (app: { get: PgQueueAdmin }) => unknown) {
    const order: string[] = [];
    const run = ({ entrypoint, id }: Job) => {
      order.push(`${entrypoint} ${id}`);
      return order.length === MIDWAY ? midway({ get: app.get<PgQueueAdmin>(PgQueueAdmin) }) : undefined;
    };
    @Injectable()
    class Handlers {
      @Entrypoint('work', { retry: { delay: 0 } })
      work(job: Job) {
        return run(job);
      }
      @Entrypoint('late')
      late(job: Job) {
        return run(job);
      }
    }
    const worker = { autoStart: false, pollInterval: POLL_NEVER };
    const { app, queue } = await ground.start({ providers: [Handlers] }, { worker });
    return { order, queue, drain: () => app.get<PgQueueWorker>(PgQueueWorker).drain() };
  }
  const fill = () =>
    ground.database.query(`insert into pgqueue.job (entrypoint) select 'work' from generate_series(1, ${DEEP})`);

  it('ends when nothing is left, also of what was committed before the place to which it has come', async () => {
    const session = await openSession(ground.database);
    await session.begin();
    await queueOn(session.db).add('late', 'work');
    await fill();
    const { order, drain } = await boot(() => session.commit());
    expect(await drain()).toHaveLength(DEEP + 2);
    expect(new Set(order).size).toBe(DEEP + 2);
    expect(await ground.queued()).toEqual([]);
    await session.end();
  });

  it('runs a retry that is due at once before it ends', async () => {
    await fill();
    const { order, drain } = await boot(() => Promise.reject(new Error('no')));
    const drained = await drain();
    expect(drained.map(({ status }) => status).filter((status) => status !== 'successful')).toEqual(['retried']);
    expect(order).toHaveLength(DEEP + 1);
    expect(await ground.queued()).toEqual([]);
  });

  it('runs what the last job enqueues, of another entrypoint and less urgent', async () => {
    await fill();
    const { queue, order, drain } = await boot(() => queue.enqueue('late', undefined, { priority: -1 }));
    expect(await drain()).toHaveLength(DEEP + 1);
    expect(order).toContainEqual(expect.stringMatching(/^late/));
  });

  it('ends at a pause of its entrypoint', async () => {
    await fill();
    const { order, drain } = await boot(({ get }) => get.pause('work'));
    const drained = await drain();
    expect(await ground.queued()).toHaveLength(DEEP - drained.length);
    expect(order.length).toBeLessThan(DEEP);
  });
});

import { setTimeout as pause } from 'node:timers/promises';
import { Team } from '../../lib/claimer/team.js';
import type { ClaimedJob } from '../../lib/domain/job.js';
import { deferred, eventually, names, openSession, useWorkerGround } from '../support/index.js';

const NEVER = 600_000;
// Milliseconds of a claim from the head: who has found nothing behind the place waits for 800. The next poll is after 5,000.
const SLOW = 200;
const SOON = 3_000;

describe('workers of one team', () => {
  const ground = useWorkerGround();

  it('go on beside one whose claim gets no answer', async () => {
    const team = new Team();
    const holder = await holdUp();
    const ran = deferred();
    const handlers = { stuck: () => undefined, work: () => ran.resolve() };
    await ground.queue.add({ entrypoint: 'stuck' });
    const options = { team, pollInterval: NEVER };
    await ground.start(handlers, options);
    await eventually(async () => expect(await waiting()).toBe(1));
    await ground.start(handlers, options);
    await ground.queue.add({ entrypoint: 'work' });
    await ground.database.query(`select pg_notify('${names.channel}', '')`);
    const startedAt = performance.now();
    await ran.promise;
    expect(performance.now() - startedAt).toBeLessThan(SOON);
    await holder.end();
  });

  it('run the jobs of their own entrypoints, whatever the others run', async () => {
    const team = new Team();
    const counts = { one: 0, two: 0, both: 0 };
    const done = deferred();
    const count = (name: keyof typeof counts) => () => {
      counts[name]++;
      if (counts.one + counts.two + counts.both === 6_000) done.resolve();
    };
    const jobs = Array.from({ length: 2_000 }, () => ['one', 'two', 'both']).flat();
    await ground.queue.add(...jobs.map((entrypoint) => ({ entrypoint })));
    const both = count('both');
    await ground.start({ one: count('one'), both }, { team });
    await ground.start({ two: count('two'), both }, { team });
    await done.promise;
    await eventually(async () => expect(await ground.database.query(`select from ${names.job}`)).toEqual([]));
    expect(counts).toEqual({ one: 2_000, two: 2_000, both: 2_000 });
  });

  it('look at the head again, who had seen nothing behind a place that another one of them gave up', async () => {
    const team = new Team();
    const { frontier } = team.courseOf(['work']);
    frontier.begin([{ id: '1000000', entrypoint: 'work', priority: 0 } as ClaimedJob], SLOW);
    const ran = deferred();
    const worker = await ground.start({ work: () => ran.resolve() }, { team, pollInterval: NEVER });
    await worker.event('listening');
    await eventually(() => expect(worker.statements()).toBeGreaterThan(1));
    await pause(100); // it has claimed, and waits
    await ground.addSilently();
    const startedAt = performance.now();
    frontier.forget();
    await ran.promise;
    expect(performance.now() - startedAt).toBeLessThan(SOON);
  });

  /** Has whoever claims a job of `stuck` wait for a lock, until the session ends that it resolves with. */
  async function holdUp() {
    await ground.database.query(`
      create function wait() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
      create trigger wait before update on ${names.job} for each row
        when (old.entrypoint = 'stuck' and new.status = 'picked') execute function wait()`);
    const holder = await openSession(ground.database);
    await holder.db.query('select pg_advisory_lock(1)');
    return holder;
  }

  const waiting = async () =>
    (
      await ground.database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
      )
    ).length;
});

import { setTimeout as pause } from 'node:timers/promises';
import { Team } from '../../lib/claimer/team.js';
import type { ClaimedJob } from '../../lib/domain/job.js';
import { deferred, eventually, names, openSession, takeAway, useWorkerGround } from '../support/index.js';

const NEVER = 600_000;
// Milliseconds of a claim from the head: who has found nothing behind the place waits for 160. The next poll is after 5,000.
const QUICK = 40;
// So long that it is looked at the head beside claims behind the place.
const SLOW = 100;
const SOON = 3_000;

describe('workers of one team', () => {
  const ground = useWorkerGround();

  it('claim one after the other, and settle one after the other, where they have the same entrypoints', async () => {
    // What overlaps is refused the lock that the other one holds until its commit. Workers dissolve beside each other.
    await ground.database.query(`
      create table overlap (what text);
      create function watch() returns trigger language plpgsql as $$ begin
        if current_query() like '%stale as materialized%' then return null; end if;
        if not pg_try_advisory_xact_lock(hashtext(tg_op)) then insert into public.overlap values (tg_op); end if;
        perform pg_sleep(case tg_op when 'DELETE' then 0.05 else 0.01 end);
        return null;
      end $$;
      create trigger watch before update or delete on ${names.job} for each statement execute function watch()`);
    const team = new Team();
    await ground.queue.add(...Array.from({ length: 120 }, () => ({})));
    await Promise.all([1, 2, 3].map(() => ground.start({ work: () => pause(40) }, { team, concurrency: 3 })));
    await eventually(async () => expect(await ground.database.query(`select from ${names.job}`)).toEqual([]));
    // A turn ends after 100 ms, which may pass on a busy machine.
    expect((await ground.database.query('select from overlap')).length).toBeLessThan(5);
  });

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
    const ran = deferred();
    const worker = await ground.start({ work: () => ran.resolve() }, { team, pollInterval: NEVER });
    await worker.event('listening');
    await pause(200); // it has looked at the head, and waits
    frontier.begin([{ id: '1000000', entrypoint: 'work', priority: 0 } as ClaimedJob], QUICK);
    await ground.database.query(`select pg_notify('${names.channel}', '')`);
    await pause(80); // it has looked behind the place, and waits
    await ground.addSilently();
    const startedAt = performance.now();
    frontier.forget();
    await ran.promise;
    expect(performance.now() - startedAt).toBeLessThan(SOON);
  });

  it('are told what a look at the head has seen, as who has looked may be busy by then', async () => {
    const team = new Team();
    const { frontier } = team.courseOf(['work', 'late']);
    const [looking, done] = [deferred(), deferred()];
    const look = frontier.look.bind(frontier);
    frontier.look = (read) => look(() => looking.promise.then(read));
    frontier.begin([{ id: '100', entrypoint: 'work', priority: 0 } as ClaimedJob], SLOW);
    await ground.database.query(`alter table ${names.job} alter column id restart with 200`);
    const [busy, ran] = [deferred(), deferred()];
    const handlers = { work: () => (busy.resolve(), done.promise), late: () => ran.resolve() };
    const options = { team, concurrency: 1, pollInterval: NEVER };
    await ground.queue.add('work');
    await ground.start(handlers, options);
    await busy.promise;
    const idle = await ground.start(handlers, options);
    await idle.event('listening');
    await pause(200); // it has looked behind the place, and waits
    await ground.database.query(`insert into ${names.job} (id, entrypoint) overriding system value values (1, 'late')`);
    const startedAt = performance.now();
    looking.resolve();
    await ran.promise;
    expect(performance.now() - startedAt).toBeLessThan(SOON);
    done.resolve();
  });

  it.each([
    ['each other', true, [0, 0]],
    ['nobody', false, [1, 1]],
  ])('keep %s company: what kills their process is not taken for a job that was alone', async (_, isTeam, attempts) => {
    const team = new Team();
    const done = deferred();
    for (const entrypoint of ['one', 'other']) {
      const begun = deferred();
      const options = { team: isTeam ? team : new Team(), label: isTeam ? 'process' : entrypoint };
      await ground.start({ [entrypoint]: () => (begun.resolve(), done.promise) }, { ...options, pollInterval: NEVER });
      await ground.queue.add({ entrypoint, maxAttempts: 1 });
      await begun.promise;
    }
    const claims = await ground.database.query(`select company from ${names.claim} order by job_ids`);
    expect(claims).toEqual([{ company: false }, { company: isTeam }]);
    const dissolved = await takeAway(ground.database);
    expect(dissolved.map(({ outcome }) => outcome)).toEqual(isTeam ? ['lost', 'lost'] : ['failed', 'failed']);
    expect(await ground.database.query(`select attempt from ${names.job} order by id`)).toEqual(
      attempts.map((attempt) => ({ attempt })),
    );
    done.resolve();
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

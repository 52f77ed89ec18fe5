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

  it('claim one after the other; who is stopped meanwhile claims nothing', async () => {
    const team = new Team();
    const ran: string[] = [];
    const start = (label: string) =>
      ground.start({ work: () => void ran.push(label) }, { team, label, pollInterval: NEVER });
    const first = await start('first');
    await first.event('listening');
    const holder = await openSession(ground.database);
    await holder.db.query(`begin; lock table ${names.claim} in share mode`);
    await ground.queue.add(...Array.from({ length: 50 }, () => ({})));
    await ground.database.query(`select pg_notify('${names.channel}', '')`);
    await eventually(async () => expect(await claimsThatWait()).toBe(1));
    const second = await start('second');
    await second.event('listening');
    await pause(200);
    expect(await claimsThatWait()).toBe(1);
    await second.stop();
    await holder.db.query('commit');
    await holder.end();
    await eventually(async () => expect(await ground.database.query(`select from ${names.job}`)).toEqual([]));
    expect(ran).toEqual(Array.from({ length: 50 }, () => 'first'));
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

  const claimsThatWait = async () =>
    (
      await ground.database.query(
        `select from pg_stat_activity
         where datname = current_database() and query like '%ids as materialized%' and wait_event_type = 'Lock'`,
      )
    ).length;
});

import { Injectable } from '@nestjs/common';
import { Entrypoint } from 'nestjs-pgqueue';
import { joinTeam } from '../../lib/nest/teams.js';
import { deferred, eventually, startGoodbyeProxy } from '../support/index.js';
import { useGround } from './support/index.js';

const GRACE = 500;

describe('workers of one process', () => {
  const ground = useGround();
  const connect = (options?: object) => ground.dataSource(ground.url, options);
  const connections = async () =>
    (
      await ground.database.query(
        `select from pg_stat_activity where datname = current_database() and application_name like '%nestjs-pgqueue'`,
      )
    ).length;

  it('are a team where they serve the same queue by the same settings, until the last one leaves', async () => {
    const members = [joinTeam(await connect(), 'pgqueue'), joinTeam(await connect(), 'pgqueue')] as const;
    const [first, second] = members;
    expect(second.team).toBe(first.team);
    expect(first.team.size).toBe(2);
    await first.db.query('select 1');
    await second.db.query('select 1');
    expect(await connections()).toBe(1);
    await first.leave(GRACE);
    expect(await second.db.query('select 1 as one')).toEqual([{ one: '1' }]);
    await second.leave(GRACE);
    expect(await connections()).toBe(0);
    const next = joinTeam(await connect(), 'pgqueue');
    expect(next.team).not.toBe(first.team);
    await next.leave(GRACE);
  });

  it.each([
    ['schemas', {}, 'other'],
    ['names of the application', { applicationName: 'reports' }, 'pgqueue'],
    ['settings of pg', { extra: { statement_timeout: 60_000 } }, 'pgqueue'],
    ['ways to find the password', { password: () => 'postgres' }, 'pgqueue'],
  ])('are none where they have other %s', async (_, options, schema) => {
    const one = joinTeam(await connect(), 'pgqueue');
    const other = joinTeam(await connect(options), schema);
    expect(other.team).not.toBe(one.team);
    await Promise.all([one.leave(GRACE), other.leave(GRACE)]);
  });

  it('are a team whatever the size of the pool of the application', async () => {
    const one = joinTeam(await connect(), 'pgqueue');
    const other = joinTeam(await connect({ poolSize: 3 }), 'pgqueue');
    expect(other.team).toBe(one.team);
    await Promise.all([one.leave(GRACE), other.leave(GRACE)]);
  });

  it('have four connections each', async () => {
    const members = [joinTeam(await connect(), 'pgqueue'), joinTeam(await connect(), 'pgqueue')] as const;
    const [{ db }, other] = members;
    const asleep = Promise.all(Array.from({ length: 4 }, () => db.query('select pg_sleep(1)')));
    await eventually(async () => expect(await connections()).toBe(4));
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 4 }, () => other.db.query('select 1')));
    expect(performance.now() - startedAt).toBeLessThan(800);
    expect(await connections()).toBe(8);
    await asleep;
    await Promise.all(members.map((each) => each.leave(GRACE)));
  });

  it('outlive a connection that breaks in the moment in which it is there', async () => {
    const proxy = await startGoodbyeProxy(ground.url);
    const member = joinTeam(await ground.dataSource(proxy.url), 'pgqueue');
    for (let nth = 0; nth < 3; nth++) await expect(member.db.query('select 1')).rejects.toThrow();
    expect(proxy.goodbyes()).toBe(3);
    await member.leave(GRACE);
    await proxy.close();
  });

  it('that leave take with them what gets no answer, and nothing of the others', async () => {
    const members = [joinTeam(await connect(), 'pgqueue'), joinTeam(await connect(), 'pgqueue')] as const;
    const [first, second] = members;
    const unanswered = first.db.query('select pg_sleep(3)');
    const long = second.db.query('select pg_sleep(1.5)');
    await eventually(async () => expect(await connections()).toBe(2));
    const startedAt = performance.now();
    const left = first.leave(100);
    await expect(unanswered).rejects.toThrow('Connection terminated');
    await left;
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await expect(first.db.query('select 1')).rejects.toThrow('has ended');
    expect(await long).toHaveLength(1);
    await second.leave(GRACE);
  });

  it('of two applications go on when one of them is closed', async () => {
    const handled = [deferred(), deferred()];
    const handlersOf = (nth: number) => {
      @Injectable()
      class Handlers {
        @Entrypoint(`work${nth}`)
        run() {
          handled[nth]?.resolve();
        }
      }
      return Handlers;
    };
    const [first, second] = await Promise.all([
      ground.start({ providers: [handlersOf(0)] }),
      ground.start({ providers: [handlersOf(1)] }),
    ]);
    await first.queue.enqueue('work0');
    await handled[0]?.promise;
    await first.close();
    await second.queue.enqueue('work1');
    await handled[1]?.promise;
    await second.close();
    // What they had is told apart from that of other processes.
    const workers = await ground.database.query<{ worker: string }>('select distinct worker from pgqueue.job_log');
    expect(workers).toEqual([{ worker: expect.stringMatching(/^[0-9a-f]{6}@.+:\d+$/) as string }]);
    expect(await connections()).toBe(0);
  });
});

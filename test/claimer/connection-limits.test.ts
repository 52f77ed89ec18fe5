import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Entrypoint } from 'nestjs-pgqueue';
import { createRole } from '../schema/role.js';
import { deferred, eventually, startApp, useWorkerGround } from '../support/index.js';

describe('the connections of a worker', () => {
  const ground = useWorkerGround();
  const lastBeat = async () => (await ground.database.query('select heartbeat_at from pgqueue.claim'))[0];
  const connections = async (name: string) =>
    (await ground.database.query('select from pg_stat_activity where application_name = $1', [name])).length;

  it('write beats and outcomes while handlers hold all connections of the application', async () => {
    const end = deferred();
    @Injectable()
    class Handlers {
      constructor(private readonly dataSource: DataSource) {}
      @Entrypoint('greedy')
      greedy() {
        return this.dataSource.transaction(() => end.promise);
      }
      @Entrypoint('modest')
      modest() {}
    }
    const worker = { concurrency: 20, heartbeatTimeout: 400 };
    const { dataSource, close } = await startApp(ground.database.url, { providers: [Handlers] }, { worker });
    const pool = (dataSource.driver as unknown as { master: { waitingCount: number } }).master;
    await ground.queue.add(...Array.from({ length: 12 }, () => 'greedy'));
    await eventually(() => expect(pool.waitingCount).toBeGreaterThan(0));
    await ground.queue.add('modest');
    await eventually(async () => expect(await ground.log()).toEqual([{ attempt: 1, status: 'successful' }]));
    const before = await lastBeat();
    await eventually(async () => expect(await lastBeat()).not.toEqual(before));
    end.resolve();
    await eventually(async () => expect(await ground.log()).toHaveLength(13));
    await close();
  });

  it.each([
    [5, true],
    [4, false],
  ])('are %i at most under load, with notify: %s', async (most, notify) => {
    const url = `${ground.database.url}?application_name=loaded`;
    const ofTheApplication = 1; // TypeORM's own, since it was initialised
    const seen: number[] = [];
    const work = async () => void seen.push(await connections('loaded'));
    await ground.queue.add(...Array.from({ length: 300 }, () => ({})));
    await ground.start({ work }, { url, notify, concurrency: 30, heartbeatTimeout: 100 });
    await eventually(async () => expect(await ground.log()).toHaveLength(300), { timeout: 10_000 });
    expect(Math.max(...seen)).toBeLessThanOrEqual(most + ofTheApplication);
  });

  it('are none in a process that only produces', async () => {
    const { queue } = await ground.producer({ url: `${ground.database.url}?application_name=producer` });
    await queue.enqueue('work');
    expect(await connections('producer')).toBe(1);
  });

  it('are opened once the server has room for them, when it had none at the start', async () => {
    const role = await createRole(ground.database);
    await ground.database.query(`grant usage on schema pgqueue to ${role.quoted}`);
    await ground.database.query(
      `grant select, insert, update, delete on all tables in schema pgqueue to ${role.quoted}`,
    );
    await ground.database.query(`alter role ${role.quoted} connection limit 1`);
    await ground.queue.add({});
    const worker = await ground.start(undefined, { url: role.url });
    for (const part of ['claim', 'listen'] as const) {
      const { error, transient } = await worker.event('error', ({ task }) => task === part);
      expect({ error, transient }).toMatchObject({ error: { code: '53300' }, transient: true });
    }
    await ground.database.query(`alter role ${role.quoted} connection limit 10`);
    await Promise.all([worker.event('settled'), worker.event('listening')]);
    await worker.stop();
    await role.drop();
  });
});

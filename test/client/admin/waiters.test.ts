import { Client } from 'pg';
import type { PgQueueAdmin } from 'nestjs-pgqueue';
import { eventually, names } from '../../support/index.js';
import { useAdminGround } from './support.js';

describe('those who wait for the end of a job', () => {
  const ground = useAdminGround();

  it.each<[string, (admin: PgQueueAdmin, ids: string[]) => Promise<unknown>]>([
    ['cancel()', (admin, ids) => admin.cancel(ids)],
    ['remove()', (admin, ids) => admin.remove(ids)],
    ['clear()', (admin) => admin.clear({})],
  ])('are told by %s, of the jobs that it ends', async (_, act) => {
    const admin = await ground.admin();
    const { ids: running } = await ground.addPicked({});
    const [awaited = '', other = ''] = await ground.queue.add({}, {});
    await ground.database.query('update pgqueue.job set awaited = id <> $1', [other]);
    const client = new Client({ connectionString: ground.database.url });
    await client.connect();
    const heard: (string | undefined)[] = [];
    client.on('notification', ({ payload }) => heard.push(payload));
    await client.query(`listen "${names.endChannel}"`);
    await act(admin, [awaited, other, ...running]);
    await client.query(`select pg_notify($1, 'the last')`, [names.endChannel]);
    await eventually(() => expect(heard).toEqual([awaited, 'the last']));
    await client.end();
  });
});

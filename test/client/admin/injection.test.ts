import { Injectable } from '@nestjs/common';
import { InjectPgQueue, PgQueueAdmin, PgQueueModule, PgQueueProducer } from 'nestjs-pgqueue';
import { useGround } from '../../nest/support/index.js';

@Injectable()
class Operators {
  constructor(
    readonly admin: PgQueueAdmin,
    @InjectPgQueue('reports', PgQueueAdmin) readonly reportsAdmin: PgQueueAdmin,
    @InjectPgQueue('reports') readonly reports: PgQueueProducer,
  ) {}
}

describe('PgQueueAdmin', () => {
  const ground = useGround();

  it('is injected by type, and that of a named queue by its name', async () => {
    const second = PgQueueModule.forRoot({ name: 'reports', schema: 'reports', worker: false });
    const { app, queue } = await ground.start({ imports: [second], providers: [Operators] }, { worker: false });
    const { admin, reportsAdmin, reports } = app.get(Operators);
    await queue.enqueue('work');
    await reports.enqueue('render');
    expect(await admin.counts()).toMatchObject([{ entrypoint: 'work', queued: 1 }]);
    expect(await reportsAdmin.counts()).toMatchObject([{ entrypoint: 'render', queued: 1 }]);
  });

  it('answers with a typed error after the application was closed', async () => {
    const { app, close } = await ground.start({}, { worker: false });
    const admin = app.get<PgQueueAdmin>(PgQueueAdmin);
    await close();
    for (const call of [admin.counts(), admin.cancel(['1']), admin.clear({}), admin.pause('work')]) {
      await expect(call).rejects.toMatchObject({ code: 'PGQUEUE_CLOSED' });
    }
  });

  it('works where transactions are stricter by default', async () => {
    const name = new URL(ground.url).pathname.slice(1);
    await ground.database.query(`alter database ${name} set default_transaction_isolation = 'serializable'`);
    const { app, queue } = await ground.start({}, { worker: false });
    const admin = app.get<PgQueueAdmin>(PgQueueAdmin);
    const { id } = await queue.enqueue('work', undefined, { dedupeKey: 'a' });
    await ground.database.query(`update pgqueue.job set status = 'failed'`);
    await queue.enqueue('work', undefined, { dedupeKey: 'a' });
    expect(await admin.requeue([id])).toEqual({ requeued: [], conflicts: [id] });
    expect(await admin.clear({})).toBe(2);
  });
});

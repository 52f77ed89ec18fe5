import { Injectable } from '@nestjs/common';
import { Entrypoint, PgQueueAdmin, PgQueueWorker } from 'nestjs-pgqueue';
import { useGround } from './support/index.js';

@Injectable()
class Handlers {
  @Entrypoint('paused')
  onPaused() {}
  @Entrypoint('work')
  onWork() {}
}

describe('a drain beside a paused entrypoint', () => {
  const ground = useGround();

  it.each(['ready', 'alone'])('ends, leaving its jobs that are %s', async (wait) => {
    const { app, queue } = await ground.start({ providers: [Handlers] }, { worker: { autoStart: false } });
    await queue.enqueueMany([{ entrypoint: 'paused' }, { entrypoint: 'work' }]);
    await ground.database.query('update pgqueue.job set wait = $1, run_at = clock_timestamp()', [wait]);
    await app.get<PgQueueAdmin>(PgQueueAdmin).pause('paused');
    const drained = await app.get<PgQueueWorker>(PgQueueWorker).drain();
    expect(drained.map(({ entrypoint }) => entrypoint)).toEqual(['work']);
    expect(await ground.queued()).toEqual(['paused']);
  });
});

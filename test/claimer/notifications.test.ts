import type { Job } from '../../lib/domain/job.js';
import { createNames } from '../../lib/sql/names.js';
import { deferred, eventually, names, useWorkerGround } from '../support/index.js';

const POLL_NEVER = { pollInterval: 60_000 };

describe('notifications', () => {
  const ground = useWorkerGround();

  it('of 100 jobs of one transaction fill all slots of three idle workers within 1 s', async () => {
    const end = deferred();
    const running = new Set<string>();
    const work = ({ id }: Job) => (running.add(id), end.promise);
    const workers = await Promise.all([1, 2, 3].map(() => ground.start({ work }, { ...POLL_NEVER, concurrency: 10 })));
    await Promise.all(workers.map((worker) => worker.event('listening')));
    const startedAt = performance.now();
    await ground.queue.add(...Array.from({ length: 100 }, () => ({})));
    await eventually(() => expect(running.size).toBe(30));
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    end.resolve();
    await eventually(() => expect(running.size).toBe(100));
  });

  it.each([true, false])('of 40 transactions that enqueue at once all run, with notify: %s', async (notify) => {
    const worker = await ground.start({ work: () => undefined }, { notify, pollInterval: notify ? 60_000 : 50 });
    if (notify) await worker.event('listening');
    const { queue, dataSource } = await ground.producer({ notify });
    const enqueue = () => dataSource.transaction((manager) => queue.enqueue('work', undefined, { manager }));
    await Promise.all(Array.from({ length: 40 }, enqueue));
    await eventually(async () => expect(await ground.log()).toHaveLength(40));
  });

  it('never fail an enqueue, with entrypoints of 200 bytes in a schema of 63 with any letters', async () => {
    const schema = `My "Queue" ${'é'.repeat(26)}`;
    expect(Buffer.byteLength(schema)).toBe(63);
    expect(Buffer.byteLength(createNames(schema).channel)).toBeLessThanOrEqual(63);
    const entrypoint = 'Send.'.repeat(40);
    const { queue } = await ground.producer({ schema });
    const worker = await ground.start({ [entrypoint]: () => undefined }, { schema, ...POLL_NEVER });
    await worker.event('listening');
    const { id } = await queue.enqueue(entrypoint);
    await worker.event('settled', ({ ids }) => ids.includes(id));
  });

  it.each(['Mixed Case', 'mixed case'])(
    'in schemas that differ by case alone wake only their own: %s',
    async (schema) => {
      expect(createNames(schema).channel).not.toBe(names.channel);
      const other = schema === 'Mixed Case' ? 'mixed case' : 'Mixed Case';
      const apps = await Promise.all([schema, other].map((each) => ground.producer({ schema: each })));
      const worker = await ground.start({ work: () => undefined }, { schema, ...POLL_NEVER });
      await worker.event('listening');
      await apps[1]?.queue.enqueue('work');
      const job = await apps[0]?.queue.enqueue('work');
      expect((await worker.event('settled')).ids).toEqual([job?.id]);
    },
  );
});

import { useWorkerGround } from '../support/index.js';

describe('an outcome that PostgreSQL refuses', () => {
  const ground = useWorkerGround();

  /** Refuses log rows of which `condition` holds. */
  const refuse = (condition: string, code: string) =>
    ground.database.query(`
      create function public.refuse() returns trigger language plpgsql as $$
        begin
          if ${condition} then raise exception 'refused' using errcode = '${code}'; end if;
          return new;
        end $$;
      create trigger refuse before insert on pgqueue.job_log for each row execute function public.refuse()`);

  it('holds up no other, and is written once it is accepted', async () => {
    await refuse(`new.entrypoint = 'bad'`, 'P0001');
    const ids = await ground.queue.add('bad', ...Array.from({ length: 20 }, () => 'good'));
    const nothing = () => undefined;
    const worker = await ground.start({ good: nothing, bad: nothing }, { concurrency: 30 });
    await Promise.all(ids.slice(1).map((id) => worker.event('settled', (event) => event.ids.includes(id))));
    expect(await worker.event('error')).toMatchObject({ task: 'settle', transient: false });
    expect(await ground.database.query('select id, status from pgqueue.job')).toEqual([
      { id: ids[0], status: 'picked' },
    ]);
    await ground.database.query('drop trigger refuse on pgqueue.job_log');
    await worker.event('settled', (event) => event.ids.includes(ids[0]!));
    expect(await ground.database.query('select from pgqueue.job')).toEqual([]);
  });

  it('for the text of its error is written in plain characters', async () => {
    await refuse(`new.error ~ '[^[:ascii:]]'`, '22P05');
    const [id] = await ground.queue.add({ maxAttempts: 1 });
    const worker = await ground.start({ work: () => Promise.reject(new Error('no 🎉, …')) });
    await worker.event('settled', (event) => event.ids.includes(id!));
    expect(await ground.database.query('select status, error from pgqueue.job_log')).toEqual([
      { status: 'failed', error: 'Error: no ?, ?' },
    ]);
  });
});

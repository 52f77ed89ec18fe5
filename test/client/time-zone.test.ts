import { createTestDatabase, spawnWorker } from '../support/index.js';

const FIXTURE = 'client/fixtures/time-zone.ts';
// An hour that New York had twice: 01:30, once before the clocks were set back and once after.
const RUN_AT = '2025-11-02T06:30:00.123Z';

describe('the times of a job', () => {
  it('are the same instants for processes and sessions in different time zones', async () => {
    const database = await createTestDatabase();
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`alter database ${name} set timezone = 'Pacific/Kiritimati'`);
    await database.query(`alter database ${name} set datestyle = 'SQL, DMY'`);
    await database.query(`alter database ${name} set intervalstyle = 'sql_standard'`);

    const producer = spawnWorker(FIXTURE, { DATABASE_URL: database.url, TZ: 'America/New_York', RUN_AT });
    expect(await producer.exited).toMatchObject({ code: 0 });
    const [stored] = await database.query<{ created: string }>(`
      select trunc(extract(epoch from created_at) * 1000)::text as created from pgqueue.job
      where run_at = timestamptz '${RUN_AT}'`);
    const worker = spawnWorker(FIXTURE, { DATABASE_URL: database.url, TZ: 'Asia/Tokyo' });
    const [line] = await worker.waitForLine(/^\{.*\}$/);
    expect(JSON.parse(line)).toEqual({
      payload: { hours: 1 },
      runAt: RUN_AT,
      createdAt: new Date(Number(stored?.created)).toISOString(),
      hours: 15,
    });
    expect(await worker.exited).toMatchObject({ code: 0 });
    await database.drop();
  });
});

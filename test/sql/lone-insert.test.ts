import { createTestDatabase, onPool, type TestDatabase } from '../support/index.js';

const LEFT_OUT = { code: '55000' };

describe('a trigger that leaves jobs out, and writes something else instead,', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(`
      create table elsewhere (entrypoint text);
      create function put_elsewhere() returns trigger language plpgsql as $$
        begin insert into public.elsewhere values (new.entrypoint); return null; end $$;
      create trigger put_elsewhere before insert on pgqueue.job for each row execute function put_elsewhere()`);
  });
  afterAll(() => database.drop());

  it.each([[['work']], [['work', 'work']], [[{ dedupeKey: 'key' }]]])('fails %j, and leaves nothing', async (jobs) => {
    await expect(onPool(database).add(...jobs)).rejects.toMatchObject(LEFT_OUT);
    expect(await database.query('select from elsewhere')).toEqual([]);
  });

  it('fails one that is to be inserted as claimed, and leaves nothing', async () => {
    await expect(onPool(database).addClaimed({})).rejects.toMatchObject(LEFT_OUT);
    expect(await database.query('select from elsewhere union all select from pgqueue.claim')).toEqual([]);
  });
});

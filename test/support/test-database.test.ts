import { Client } from 'pg';
import { createTestDatabase } from './index.js';

describe('createTestDatabase', () => {
  it('gives each caller a database of its own', async () => {
    const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase({ empty: true })]);
    await one.query('CREATE TABLE public.mine (id int)');
    expect(await two.query(`SELECT to_regclass('public.mine') AS found`)).toEqual([{ found: null }]);
    await Promise.all([one.drop(), two.drop()]);
  });

  it('fails the test that leaves a connection open', async () => {
    const database = await createTestDatabase();
    const leaked = new Client({ connectionString: database.url, application_name: 'leaky' });
    leaked.on('error', () => undefined);
    await leaked.connect();
    await leaked.query('SELECT 42');
    await expect(database.drop()).rejects.toThrow("'leaky', idle, last: SELECT 42");
  });
});

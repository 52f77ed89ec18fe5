import { createTestDatabase, type TestDatabase } from '../support/index.js';

/** All that a migration can change, in text that is the same on every version of PostgreSQL. */
const DUMPS = {
  columns: `
    select format('%s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then ' not null' end,
      ' default ' || pg_get_expr(d.adbin, d.adrelid),
      case a.attidentity when 'd' then ' identity' when 'a' then ' always identity' end)
      || case when a.attstorage <> t.typstorage then ' storage ' || a.attstorage::text else '' end as line
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'pgqueue'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') order by c.relname, a.attnum`,
  constraints: `
    select format('%s.%s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as line
    from pg_constraint where connamespace = 'pgqueue'::regnamespace and contype <> 'n' order by 1`,
  indexes: `
    select pg_get_indexdef(indexrelid) as line from pg_index join pg_class c on c.oid = indrelid
    where c.relnamespace = 'pgqueue'::regnamespace order by 1`,
  settings: `
    select format('%s %s', relname, reloptions) as line
    from pg_class where relnamespace = 'pgqueue'::regnamespace and reloptions is not null order by 1`,
  routines: `
    select pg_get_functiondef(oid) as line from pg_proc where pronamespace = 'pgqueue'::regnamespace
    union all select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = tgrelid
    where c.relnamespace = 'pgqueue'::regnamespace and not tgisinternal order by 1`,
};

// A released migration never changes. When this fails because of a new one, see that the snapshot only grew as it should.
describe('the schema that the migrations make', () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await createTestDatabase()));
  afterAll(() => database.drop());

  it.each(Object.entries(DUMPS))('has the %s that it is known to have', async (_, sql) => {
    const rows = await database.query<{ line: string }>(sql);
    expect(`\n${rows.map(({ line }) => line).join('\n')}\n`).toMatchSnapshot();
  });
});

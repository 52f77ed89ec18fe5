import { uniqueName } from '../support/admin.js';
import type { TestDatabase } from '../support/index.js';

export interface TestRole {
  /** Its name, for SQL. */
  readonly quoted: string;
  /** Leads to the test's database as this role. */
  readonly url: string;
  drop(): Promise<void>;
}

/** A role with no rights but those of everyone. */
export async function createRole(database: TestDatabase): Promise<TestRole> {
  const name = uniqueName('Role of "tests"');
  const quoted = `"${name.replaceAll('"', '""')}"`;
  await database.query(`create role ${quoted} login password 'secret'`);
  const url = new URL(database.url);
  url.username = encodeURIComponent(name);
  url.password = 'secret';
  const drop = async () => {
    await database.query(`drop owned by ${quoted} cascade`);
    await database.query(`drop role ${quoted}`);
  };
  return { quoted, url: url.href, drop };
}

import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { createTestDatabase, onPool, SUCCESSFUL } from '../support/index.js';

const guide = readFileSync(path.resolve(__dirname, '../../docs/log.md'), 'utf8');
const statements = [...guide.matchAll(/^```sql\n(.*?)^```$/gms)]
  .flatMap(([, block = '']) => block.split(/;\n/))
  .filter((statement) => statement.trim() !== '');

describe('docs/log.md', () => {
  it('shows statements that run', async () => {
    const database = await createTestDatabase();
    const queue = onPool(database);
    await queue.add('work');
    await queue.settle(await queue.claim(1), SUCCESSFUL);
    expect(statements).toHaveLength(4);
    for (const statement of statements) await database.query(statement);
    expect(await database.query(statements.at(-1)!)).toMatchObject([{ entrypoint: 'work', successful: '1' }]);
    await database.drop();
  });
});

import { readFileSync } from 'node:fs';
import * as path from 'node:path';

const DOCS = path.resolve(__dirname, '../../docs');

const guide = readFileSync(path.join(DOCS, 'lifecycle.md'), 'utf8');
const isRow = (line: string) => line.startsWith('| ') && !line.startsWith('| What happens');
const rows = guide.split('\n').filter(isRow);

describe('docs/lifecycle.md', () => {
  it('has a sentence and a test in each row', () => {
    expect(rows.length).toBeGreaterThan(40);
    for (const row of rows) expect(row).toMatch(/^\| [^|]+\. \| \[[^|]+\]\(\.\.\/test\/[^|]+\.test\.ts\) \|$/);
  });

  it.each(rows.map((row) => /\[([^|]+)\]\((\.\.\/test\/[^|]+)\) \|$/.exec(row)?.slice(1) ?? [row, '']))(
    'names a test that there is: %s (%s)',
    (name, file) => {
      const tests = readFileSync(path.join(DOCS, file), 'utf8');
      expect([`'${name}',`, `'${name} (%i)',`].filter((title) => tests.includes(title))).toHaveLength(1);
    },
  );
});

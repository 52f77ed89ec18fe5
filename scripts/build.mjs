// Compiles lib/ and migrations/ twice, into dist/cjs and dist/esm, each marked with its module type.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

rmSync(path.join(root, 'dist'), { recursive: true, force: true });
for (const [format, type] of [
  ['cjs', 'commonjs'],
  ['esm', 'module'],
]) {
  execFileSync(process.execPath, [tsc, '--project', `tsconfig.${format}.json`], { cwd: root, stdio: 'inherit' });
  writeFileSync(path.join(root, 'dist', format, 'package.json'), `${JSON.stringify({ type })}\n`);
}

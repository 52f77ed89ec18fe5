// Packs the package, inspects the tarball, and installs it into the applications of test/consumers, outside of this
// repository: CommonJS on Nest 11, ES modules on Nest 12, and both in one process.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const work = mkdtempSync(path.join(tmpdir(), 'nestjs-pgqueue-'));
const failures = [];

function run(command, args, options) {
  execFileSync(command, args, { cwd: root, stdio: 'inherit', ...options });
}

function check(name, body) {
  console.log(`\n# ${name}`);
  try {
    body();
  } catch (error) {
    console.error(error.message);
    failures.push(name);
  }
}

/** Runs a program of a compiled consumer; one that does not exit by itself fails. */
function runProgram(cwd, args) {
  run(process.execPath, args, { cwd, timeout: 120_000, killSignal: 'SIGKILL' });
}

/**
 * @param runs the arguments of node for each run, its program among them
 * @param shared files of the tests that it uses too
 */
function consumer(name, runs, shared = []) {
  const folder = path.join(work, name);
  check(`consumer: ${name}`, () => {
    cpSync(path.join(root, 'test/consumers'), folder, { recursive: true, filter: (file) => !isConsumer(file) });
    cpSync(path.join(root, 'test/consumers', name), folder, { recursive: true });
    for (const file of shared) cpSync(path.join(root, 'test', file), path.join(folder, 'support', path.basename(file)));
    run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', tarball], {
      cwd: folder,
    });
    run(process.execPath, [tsc, '--project', folder]);
    for (const args of runs) runProgram(folder, args);
  });
}

const isConsumer = (file) => ['commonjs', 'esm', 'mixed'].includes(path.basename(file));

run('npm', ['pack', '--loglevel=error', '--pack-destination', work]);
const tarball = path.join(
  work,
  readdirSync(work).find((file) => file.endsWith('.tgz')),
);

try {
  check('publint', () => run('publint', ['run', tarball, '--strict']));
  check('are the types wrong?', () => run('attw', [tarball]));
  consumer('commonjs', [['app.js']]);
  consumer(
    'esm',
    [['app.js'], ['start-and-stop.js']],
    ['layouts', 'life-story', 'ways-to-start'].map((each) => `nest/support/${each}.ts`),
  );
  // Without require(esm) Node has no `module-sync` condition, and two copies of the package meet in the process.
  consumer('mixed', [['app.js'], ['--no-experimental-require-module', 'app.js']]);
} finally {
  rmSync(work, { recursive: true, force: true });
}

console.log(failures.length > 0 ? `\nFailed: ${failures.join(', ')}` : '\nThe package is fine.');
process.exitCode = failures.length > 0 ? 1 : 0;

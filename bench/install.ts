import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const LOCK = join(__dirname, 'package-lock.json');
// npm writes it at the end of an installation.
const INSTALLED = join(__dirname, 'node_modules/.package-lock.json');

/** Installs the peers, unless they are. */
export function installPeers(): void {
  if (existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs) return;
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', ['ci', '--prefix', __dirname, ...options], { stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Such as `pg-boss 12.38.0`. */
export function peerVersions(): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(__dirname, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
}

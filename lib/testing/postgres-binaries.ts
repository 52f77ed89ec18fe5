import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import {
  binariesDoNotRun,
  packageMissing,
  platformPackageMissing,
  platformUnsupported,
} from './embedded-postgres.errors.js';
import type { ServerUser } from './server-user.js';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm', 'linux-arm64', 'linux-ia32', 'linux-ppc64', 'linux-x64'];

/** The server's programs where `user` can run them: in the installed package, else in a copy below `folder`. */
export async function provideBinaries(user: ServerUser, folder: string): Promise<PostgresBinaries> {
  const installed = findPlatformPackage();
  if (linkLibraries(installed) && tryBinaries(installed, user).runs) return binariesOf(installed);
  await copyPrograms(join(installed, 'native'), join(folder, 'native'));
  linkLibraries(folder);
  const { runs, output, error } = tryBinaries(folder, user);
  if (!runs) throw binariesDoNotRun(binariesOf(installed).postgres, output, error);
  return binariesOf(folder);
}

function findPlatformPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.includes(platform)) throw platformUnsupported(platform);
  const wrapper = resolveFromProject('embedded-postgres');
  const platformPackage = `@embedded-postgres/${platform}`;
  try {
    // Its entry is dist/index.js; package.json is not exported.
    return dirname(dirname(createRequire(wrapper).resolve(platformPackage)));
  } catch (error) {
    throw platformPackageMissing(platformPackage, error);
  }
}

/** From the working directory, then from the program that runs: either may lie outside of the project. */
function resolveFromProject(name: string): string {
  const program = process.argv[1];
  const bases = [join(process.cwd(), 'noop.js')];
  if (program !== undefined && existsSync(program)) bases.push(realpathSync(program));
  let reason: unknown;
  for (const base of bases) {
    try {
      return realpathSync(createRequire(base).resolve(name));
    } catch (error) {
      reason = error;
    }
  }
  throw packageMissing(reason);
}

async function copyPrograms(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
  // What root installed under a umask such as 077 stays closed to the server's user in a copy too.
  spawnSync('chmod', ['-R', 'a+rX', to]);
}

/** npm packages hold no symlinks: an install script makes them, which `--ignore-scripts` skips. */
function linkLibraries(packageFolder: string): boolean {
  const list = join(packageFolder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  try {
    for (const { source, target } of links) linkLibrary(basename(source), join(packageFolder, target));
    return true;
  } catch {
    return false;
  }
}

function linkLibrary(source: string, target: string): void {
  if (existsSync(target)) return;
  try {
    symlinkSync(source, target);
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function tryBinaries(packageFolder: string, user: ServerUser) {
  const { status, stderr, error } = spawnSync(binariesOf(packageFolder).postgres, ['--version'], {
    ...user,
    cwd: '/',
    encoding: 'utf8',
  });
  return { runs: status === 0, output: error ? error.message : stderr.trim(), error };
}

function binariesOf(packageFolder: string): PostgresBinaries {
  const folder = join(packageFolder, 'native', 'bin');
  return { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') };
}

import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A place for temporary files, to see what a command leaves behind there. */
export interface Ground {
  readonly path: string;
  files(): Promise<string[]>;
  /** Command lines of the running processes that name it. */
  processes(): string[];
  clear(): Promise<void>;
}

export async function createGround(): Promise<Ground> {
  const path = await mkdtemp(join(tmpdir(), 'test-ground-'));
  // Anyone's, as any temporary folder is: the server of root belongs to another user.
  await chmod(path, 0o1777);
  return {
    path,
    // Not the compiler's own cache, which it keeps.
    files: async () => (await readdir(path)).filter((file) => !file.startsWith('swc-native')),
    processes: () =>
      spawnSync('ps', ['-A', '-o', 'args'], { encoding: 'utf8' })
        .stdout.split('\n')
        .filter((line) => line.includes(path)),
    clear: () => rm(path, { recursive: true, force: true }),
  };
}

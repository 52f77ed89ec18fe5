import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chown, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whom the server runs as; empty for the user of this process. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

const NOBODY: ServerUser = { uid: 65534, gid: 65534 };

/** PostgreSQL refuses to run as root, so root's server runs as `postgres` or, without such a user, as nobody. */
export function chooseServerUser(): ServerUser {
  if (process.getuid?.() !== 0) return {};
  const uid = idOfPostgres('-u');
  const gid = idOfPostgres('-g');
  return uid && gid ? { uid, gid } : NOBODY;
}

function idOfPostgres(option: '-u' | '-g'): number {
  const { status, stdout } = spawnSync('id', [option, 'postgres'], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : 0;
}

/** A path that nothing has yet, below a folder that the server's user can enter. */
export function chooseServerFolder(user: ServerUser): string {
  const parent = canEnter(user, tmpdir()) ? tmpdir() : '/tmp';
  return join(parent, `nestjs-pgqueue-${randomUUID()}`);
}

/** Root's TMPDIR often lies below a folder that only root can enter. */
function canEnter(user: ServerUser, folder: string): boolean {
  if (user.uid === undefined) return true;
  return spawnSync('ls', ['-d', `${folder}/.`], { ...user, cwd: '/' }).status === 0;
}

export async function createServerFolder(folder: string, user: ServerUser): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid);
}

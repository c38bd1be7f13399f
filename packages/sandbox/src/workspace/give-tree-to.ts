import { execFile } from 'node:child_process';
import { chown, lstat, readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { SYSTEM_PATH } from '../host/system-path.ts';
import { ignoreMissing } from './files/workspace-path.ts';

const run = promisify(execFile);

export interface Owner {
  uid: number;
  gid: number;
}

/** Changes the owner of a tree unless it is right already. Only root can do that, and only root needs to. */
export async function giveTreeTo(path: string, { uid, gid }: Owner): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const stats = await ignoreMissing(lstat(path));
  // chown(1) changes the top of a tree last, so its owner shows that of all the rest.
  if (!stats || stats.uid === uid) return;
  // Most are new: no process is started for those.
  if (stats.isDirectory() && (await readdir(path)).length === 0) return chown(path, uid, gid);
  await run('chown', ['-RhP', `${uid}:${gid}`, '--', path], { env: { PATH: SYSTEM_PATH } });
}

import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

/** The PATH of commands. Fixed, so that the server's own PATH reveals nothing to a command. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export async function findProgram(name: string): Promise<string | undefined> {
  for (const dir of SYSTEM_PATH.split(':')) {
    const path = join(dir, name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

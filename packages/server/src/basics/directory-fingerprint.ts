/**
 * Names a directory of this machine without its path: two programs that see the same directory compute the same, in whatever
 * place it is for each of them. A program on another machine has another boot id, and so never does.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Undefined if there is no such directory, or the machine has no boot id. */
export async function directoryFingerprint(path: string): Promise<string | undefined> {
  const [boot, found] = await Promise.all([
    readFile(BOOT_ID, 'utf8').catch(() => undefined),
    stat(path, { bigint: true }).catch(() => undefined),
  ]);
  if (boot === undefined || !found?.isDirectory()) return undefined;
  return createHash('sha256').update(`${boot.trim()} ${found.dev} ${found.ino}`).digest('hex');
}

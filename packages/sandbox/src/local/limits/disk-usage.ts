/**
 * The disk space under some directories, by blocks, each file once however many names it has.
 *
 * du(1) and not a walk of ours: it goes by directory handle, so it neither follows a link nor is led astray by a tree
 * that changes under it, and it takes the time of another processor. Where the server is not root it runs as the root
 * of a user namespace, if there are any: a command could otherwise hide files in a directory without rights.
 */
import { spawn } from 'node:child_process';
import { SYSTEM_PATH } from '../system-path.ts';

export type DiskUsage = (dirs: readonly string[]) => Promise<number>;

const DU = ['du', '-skx', '--'];
const WITH_RIGHTS = ['unshare', '--user', '--map-root-user', ...DU];
/** To try it on. */
const SOMETHING = ['/dev/null'];
const KB = 1024;

/** The way that works here. Rejects where there is none. */
export async function findDiskUsage(): Promise<DiskUsage> {
  const preferred = process.getuid?.() === 0 ? DU : WITH_RIGHTS;
  try {
    await measure(preferred, SOMETHING);
    return (dirs) => measure(preferred, dirs);
  } catch {
    await measure(DU, SOMETHING);
    return (dirs) => measure(DU, dirs);
  }
}

async function measure(command: readonly string[], dirs: readonly string[]): Promise<number> {
  const [program = '', ...args] = [...command, ...dirs];
  const child = spawn(program, args, {
    env: { PATH: SYSTEM_PATH },
    // It complains about everything that vanishes under it, and counts the rest.
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  const output = await Promise.race([child.stdout.setEncoding('utf8').toArray(), failed]);
  const sizes = [...output.join('').matchAll(/^(\d+)\t/gm)].map(([, kilobytes]) => Number(kilobytes) * KB);
  if (sizes.length === dirs.length) return sizes.reduce((sum, size) => sum + size, 0);
  throw new Error('du could not measure the disk space of a workspace');
}

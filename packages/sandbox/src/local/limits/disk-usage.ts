/**
 * The disk space under some directories, by blocks, each file once however many names it has. A file without content
 * has no block but takes one of the file system's files, of which there are as few for all: so the space is at least
 * `FILE_BYTES` for each, which most trees hold anyway.
 *
 * du(1) and not a walk of ours: it goes by directory handle, so it neither follows a link nor is led astray by a tree
 * that changes under it, and it takes the time of another processor. Where the server is not root it runs as the root
 * of a user namespace, if there are any: a command could otherwise hide files in a directory without rights.
 */
import { spawn } from 'node:child_process';
import { SYSTEM_PATH } from '../../host/system-path.ts';

export type DiskUsage = (dirs: readonly string[]) => Promise<number>;

/** A block of the usual size; file systems are made with a file for every few of them. */
export const FILE_BYTES = 4096;

const WITH_RIGHTS = ['unshare', '--user', '--map-root-user'];
const BLOCKS = ['du', '-skx', '--'];
/** Not every du can. */
const FILES = ['du', '-sx', '--inodes', '--'];
/** To try it on. */
const SOMETHING = ['/dev/null'];
const KB = 1024;

/** The way that works here. Rejects where there is none. A du that counts files is asked no more: it knows the rest. */
export async function findDiskUsage(): Promise<DiskUsage> {
  const prefixes = process.getuid?.() === 0 ? [[]] : [WITH_RIGHTS, []];
  let reason: unknown;
  for (const prefix of prefixes) {
    for (const countsFiles of [true, false]) {
      try {
        await sum([...prefix, ...(countsFiles ? FILES : BLOCKS)], SOMETHING);
        return usageBy(prefix, countsFiles);
      } catch (error) {
        reason = error;
      }
    }
  }
  throw reason;
}

function usageBy(prefix: readonly string[], countsFiles: boolean): DiskUsage {
  return async (dirs) => {
    const [kilobytes, files] = await Promise.all([
      sum([...prefix, ...BLOCKS], dirs),
      countsFiles ? sum([...prefix, ...FILES], dirs) : 0,
    ]);
    return Math.max(kilobytes * KB, files * FILE_BYTES);
  };
}

async function sum(command: readonly string[], dirs: readonly string[]): Promise<number> {
  const [program = '', ...args] = [...command, ...dirs];
  const child = spawn(program, args, {
    env: { PATH: SYSTEM_PATH },
    // It complains about everything that vanishes under it, and counts the rest.
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  const output = await Promise.race([child.stdout.setEncoding('utf8').toArray(), failed]);
  const counts = [...output.join('').matchAll(/^(\d+)\t/gm)].map(([, count]) => Number(count));
  if (counts.length === dirs.length) return counts.reduce((total, count) => total + count, 0);
  throw new Error('du could not measure the disk space of a workspace');
}

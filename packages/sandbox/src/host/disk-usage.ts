/**
 * The disk space under some directories, in blocks, each file once however many names it has. A file without content
 * has no block but takes one of the file system's inodes, which are shared by all. So each file counts at least
 * `FILE_BYTES`, which most trees take anyway.
 *
 * du(1) rather than our own walk: it works with directory handles, so it neither follows a link nor is confused by a
 * tree that changes meanwhile, and it uses another processor. If the server is not root, du runs as root of a user
 * namespace, if possible: otherwise a command could hide files in a directory without permissions.
 */
import { spawn } from 'node:child_process';
import { findProgram, SYSTEM_PATH } from './system-path.ts';

export type DiskUsage = (dirs: readonly string[]) => Promise<number>;

/** A block of the usual size; file systems have one inode for every few of them. */
export const FILE_BYTES = 4096;

const WITH_RIGHTS = ['unshare', '--user', '--map-root-user'];
const BLOCKS = ['du', '-skx', '--'];
/** Not every du supports it. */
const FILES = ['du', '-sx', '--inodes', '--'];
/** A file for trying du. */
const SOMETHING = ['/dev/null'];
const KB = 1024;

/**
 * Rejects if there is no du. The first measurement finds out which options work here: starting a process is a good part of
 * the cost of a server's start, and many servers measure nothing.
 */
export async function findDiskUsage(): Promise<DiskUsage> {
  if (!(await findProgram('du'))) throw new Error('du is not installed');
  let found: Promise<DiskUsage> | undefined;
  return async (dirs) => {
    found ??= findWay().catch((error) => {
      found = undefined;
      throw error;
    });
    return (await found)(dirs);
  };
}

/** A du that counts files supports the rest, too. */
async function findWay(): Promise<DiskUsage> {
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
    // It complains about everything that vanishes meanwhile, and counts the rest.
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  const output = await Promise.race([child.stdout.setEncoding('utf8').toArray(), failed]);
  const counts = [...output.join('').matchAll(/^(\d+)\t/gm)].map(([, count]) => Number(count));
  if (counts.length === dirs.length) return counts.reduce((total, count) => total + count, 0);
  throw new Error('du could not measure the disk space of a workspace');
}

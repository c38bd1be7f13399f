/**
 * Puts the temporary files of tests into memory, where there is room. The tests make and delete hundreds of thousands of
 * small files: workspaces, stores, clusters of Postgres. On disk, that takes up to ten times the processor time.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** The magic number of tmpfs, for statfs. */
const TMPFS = 0x01021994;
/** Several times what the tests have at the same time. In a container, there are often only 64 MB. */
const ENOUGH_BYTES = 6 * 1024 ** 3;
/** Short, because the path of a socket may have only 107 characters. */
const PREFIX = 'talaria-';

/** For this process and those that it starts, until it ends. A TMPDIR that the caller chose stays. */
export function keepTemporaryFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || !hasRoom()) return;
  removeAbandoned();
  const directory = join(MEMORY, `${PREFIX}${process.pid}`);
  mkdirSync(directory);
  // Like /tmp: Postgres and the commands of a sandbox run as other users.
  chmodSync(directory, 0o1777);
  process.env.TMPDIR = directory;
  process.once('exit', () => removeDirectory(directory));
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { type, bavail, bsize } = statfsSync(MEMORY);
  return type === TMPFS && Math.min(bavail * bsize, freemem()) >= ENOUGH_BYTES;
}

/** What processes left that were killed. */
function removeAbandoned(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : Number.NaN;
    if (Number.isInteger(pid) && !existsSync(`/proc/${pid}`)) removeDirectory(join(MEMORY, name));
  }
}

/** What cannot be removed stays, and is no reason not to run: something that a test started may still use it. */
export function removeDirectory(directory: string): void {
  try {
    for (const path of mountsBelow(directory)) execFileSync('umount', ['--lazy', path], { stdio: 'ignore' });
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // The next run tries again.
  }
}

/** A daemon of containers that was killed leaves mounts. The innermost come first. */
function mountsBelow(directory: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  return mounts.filter((path) => path.startsWith(`${directory}/`)).reverse();
}

/**
 * Files that processes hold open, or mapped into memory, after their last name is gone: they take space that no walk finds.
 * Only root can ask how many blocks a file has that is only mapped, so the mapped bytes count instead. If a descriptor was sent
 * over a socket and not yet received, only the kernel knows its file.
 */
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { descendantsOf } from '../../host/process-table.ts';

const BLOCK_BYTES = 512;
/** How many descriptors are examined before other work gets its turn, and altogether: a command may hold very many. */
const SLICE = 500;
const MOST = 50_000;
/** How much is read of each process's list of mappings: some ten thousand of them. */
const MAPS_BYTES = 1024 * 1024;
/** A range, rights, an offset, a device, an inode and the name it had. */
const DELETED_MAPPING = /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) .* \(deleted\)$/gm;

export interface UnlinkedFiles {
  /** The space that the found files take. */
  bytes: number;
  /** Whether there are descriptors that nobody has received yet, of whatever file. */
  inFlight: boolean;
}

/** The unlinked files of these processes and their descendants, on one file system. */
export async function findUnlinked(roots: readonly number[], device: number): Promise<UnlinkedFiles> {
  const seen = new Set<number>();
  let bytes = 0;
  let inFlight = false;
  let looked = 0;
  const pids = descendantsOf(roots);
  for (const pid of pids) {
    for (const fd of entriesOf(`/proc/${pid}/fd`)) {
      const file = statIfThere(`/proc/${pid}/fd/${fd}`);
      if (file?.isFile() && file.nlink === 0 && file.dev === device && !seen.has(file.ino)) {
        seen.add(file.ino);
        bytes += file.blocks * BLOCK_BYTES;
      }
      if (!inFlight && file?.isSocket()) inFlight = holdsDescriptors(pid, fd);
      if (++looked === MOST) return { bytes, inFlight };
      if (looked % SLICE === 0) await nextTurn();
    }
  }
  return { bytes: bytes + (await mappedBytes(pids, device, seen)), inFlight };
}

function holdsDescriptors(pid: number, fd: string): boolean {
  try {
    return /^scm_fds:\s*[1-9]/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'));
  } catch {
    return false;
  }
}

/** Counts only files that are not in `seen`. */
async function mappedBytes(
  pids: Iterable<number>,
  device: number,
  seen: ReadonlySet<number>,
): Promise<number> {
  const mapped = new Map<number, number>();
  for (const pid of pids) {
    const ofProcess = new Map<number, number>();
    for (const [, start, end, major, minor, inode] of (await readMaps(pid)).matchAll(DELETED_MAPPING)) {
      if (deviceNumber(hex(major), hex(minor)) !== device || seen.has(Number(inode))) continue;
      const length = hex(end) - hex(start);
      ofProcess.set(Number(inode), (ofProcess.get(Number(inode)) ?? 0) + length);
    }
    // Processes share their mappings with those they start.
    for (const [inode, bytes] of ofProcess) mapped.set(inode, Math.max(mapped.get(inode) ?? 0, bytes));
  }
  return [...mapped.values()].reduce((sum, bytes) => sum + bytes, 0);
}

async function readMaps(pid: number): Promise<string> {
  try {
    await using file = await open(`/proc/${pid}/maps`);
    let text = '';
    const buffer = Buffer.alloc(64 * 1024);
    while (text.length < MAPS_BYTES) {
      const { bytesRead } = await file.read(buffer);
      if (bytesRead === 0) break;
      text += buffer.toString('latin1', 0, bytesRead);
    }
    return text;
  } catch {
    return '';
  }
}

function hex(digits: string | undefined): number {
  return Number.parseInt(digits ?? '0', 16);
}

/** The device number in the form of stat(2). */
function deviceNumber(major: number, minor: number): number {
  return ((major & 0xfff) << 8) | (minor & 0xff) | ((minor & 0xfff00) << 12);
}

function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

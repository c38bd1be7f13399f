/**
 * The directory that changes are taken into. Links in it are never followed: what is below one is not in it.
 *
 * An entry comes with the state it was seen in, so that a later look can tell whether it is still the same.
 */
import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { lstat, open, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from '../../command-error.ts';
import { shownPath } from '../../text/shown-path.ts';
import { type Entry, NONE } from './entry.ts';

export type LocalEntry =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly seen: Seen }
  /** Neither a file nor a link. */
  | { readonly kind: 'directory' | 'special'; readonly seen: Seen }
  /** Something above it is no directory. */
  | { readonly kind: 'blocked'; readonly by: string };

/** Equal for two looks at a path if nothing has happened to what is there. */
export type Seen = string;

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CHUNK_BYTES = 256 * 1024;

export class LocalFiles {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  async look(path: string): Promise<LocalEntry> {
    const by = await this.#blocker(path);
    if (by !== undefined) return { kind: 'blocked', by };
    const place = join(this.root, path);
    const stats = await statsOf(place);
    if (stats === undefined) return { kind: 'entry', entry: NONE, seen: seenOf(undefined) };
    const seen = seenOf(stats);
    if (stats.isDirectory()) return { kind: 'directory', seen };
    if (stats.isSymbolicLink()) {
      return { kind: 'entry', entry: { type: 'symlink', target: await readlink(place) }, seen };
    }
    if (!stats.isFile()) return { kind: 'special', seen };
    const sha256 = await digestOf(place, path);
    return { kind: 'entry', entry: { type: 'file', sha256, executable: isExecutable(stats) }, seen };
  }

  /** Undefined if something above the path has become something else than a directory. */
  async see(path: string): Promise<Seen | undefined> {
    if ((await this.#blocker(path)) !== undefined) return undefined;
    return seenOf(await statsOf(join(this.root, path)));
  }

  /** The first path above it that exists and is no directory. */
  async #blocker(path: string): Promise<string | undefined> {
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
      const above = path.slice(0, end);
      const stats = await statsOf(join(this.root, above));
      if (stats === undefined) return undefined;
      if (!stats.isDirectory()) return above;
    }
    return undefined;
  }
}

async function statsOf(place: string): Promise<BigIntStats | undefined> {
  return lstat(place, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw new CommandError(`${shownPath(place)} cannot be read: ${error.code}`);
  });
}

function seenOf(stats: BigIntStats | undefined): Seen {
  if (stats === undefined) return 'none';
  const { dev, ino, mode, size, mtimeNs, ctimeNs } = stats;
  // The times of a directory change with what is in it.
  return stats.isDirectory() ? `${dev} ${ino}` : [dev, ino, mode, size, mtimeNs, ctimeNs].join(' ');
}

function isExecutable({ mode }: BigIntStats): boolean {
  return (Number(mode) & 0o100) !== 0;
}

async function digestOf(place: string, path: string): Promise<string> {
  try {
    await using file = await open(place, FLAGS);
    const hash = createHash('sha256');
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(chunk);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(chunk.subarray(0, bytesRead));
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`${shownPath(path)} cannot be read: ${code}`);
  }
}

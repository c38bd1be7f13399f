/**
 * Turns the entries of an archive into entries of a tree that may go into a workspace, or refuses the archive.
 *
 * - A name stays below the directory that the archive is unpacked in: it is not absolute and has no `..`.
 * - A name comes once, and never below something that is not a directory. So nothing is ever written through a link.
 * - A link leads to a place inside the workspace, as far as its text tells.
 * - Entries, bytes, and bytes in relation to the size of the archive are bounded.
 * - Permissions lose the bits that change a user; whoever owns the workspace can read and write everything.
 */
import type { TreeEntry } from '@talaria/sandbox';
import {
  type ArchivedEntry,
  ArchiveError,
  type ArchiveLimits,
  noContent,
  shownName,
  tooLarge,
  tooMany,
} from './archive-entry.ts';
import { DEPTH_MAX, leadsOut, PATH_BYTES_MAX } from './entry-rules.ts';

const NAME_BYTES_MAX = 255;
const [DOT, SLASH] = ['.', '/'];
/** Times that a file system can store. */
const LATEST_MS = 253_402_300_799_000;

/** `into` is the path of the directory in the workspace, `.` for the workspace itself. */
export async function* checkedEntries(
  entries: AsyncIterable<ArchivedEntry>,
  into: string,
  limits: ArchiveLimits,
): AsyncGenerator<TreeEntry, void> {
  const tree = new Tree(limits);
  let bytes = 0;
  yield* tree.above([...componentsOf(Buffer.from(into)), 'x'], Date.now());
  const root = componentsOf(Buffer.from(into));
  for await (const entry of entries) {
    const inside = componentsOf(entry.name);
    // The root of the archive itself.
    if (inside.length === 0 && entry.type === 'directory') continue;
    const components = [...root, ...inside];
    checkName(entry.name, components, inside.length);
    const modifiedMs = Math.min(Math.max(Math.floor(entry.modifiedMs) || 0, 0), LATEST_MS);
    yield* tree.above(components, modifiedMs);
    if (!tree.add(components, entry)) continue;
    if (entry.size < 0 || !Number.isSafeInteger(entry.size)) {
      throw new ArchiveError(`${shownName(entry.name)} has a size that cannot be read`);
    }
    bytes += entry.size;
    if (bytes > limits.maxBytes) throw tooLarge(limits);
    yield { ...toTreeEntry(entry, components), modifiedMs };
  }
}

/** Each character is a byte, whatever the encoding of the name. */
function componentsOf(name: Buffer): string[] {
  return name
    .toString('latin1')
    .split(SLASH)
    .filter((component) => component !== '' && component !== DOT);
}

function checkName(name: Buffer, components: readonly string[], own: number): void {
  const refuse = (why: string) => new ArchiveError(`the entry ${shownName(name)} ${why}`);
  if (name[0] === SLASH.charCodeAt(0)) throw refuse('has an absolute path');
  if (components.includes('..')) throw refuse("has '..' in its path");
  if (own === 0) throw refuse('has no name');
  if (components.some((component) => component.includes('\0'))) throw refuse('has a NUL in its name');
  const isLong =
    components.some((component) => component.length > NAME_BYTES_MAX) ||
    components.length > DEPTH_MAX ||
    components.join(SLASH).length > PATH_BYTES_MAX;
  if (isLong) throw refuse('has a path that is too long or too deep');
}

function toTreeEntry(entry: ArchivedEntry, components: readonly string[]): Omit<TreeEntry, 'modifiedMs'> {
  const name = pathOf(components);
  switch (entry.type) {
    case 'directory':
      return { name, type: 'directory', size: 0, mode: (entry.mode & 0o777) | 0o700, content: noContent };
    case 'file':
      return {
        name,
        type: 'file',
        size: entry.size,
        mode: (entry.mode & 0o777) | 0o600,
        content: entry.content,
      };
    case 'symlink': {
      const target = entry.target ?? Buffer.alloc(0);
      checkTarget(entry.name, target, components);
      const content = async function* () {
        yield target;
      };
      return { name, type: 'symlink', size: target.length, mode: 0o777, content };
    }
  }
}

function checkTarget(name: Buffer, target: Buffer, components: readonly string[]): void {
  const refuse = (why: string) => new ArchiveError(`the link ${shownName(name)} ${why}`);
  const text = target.toString('latin1');
  if (text === '' || text.includes('\0') || target.length > PATH_BYTES_MAX)
    throw refuse('has no valid target');
  if (text.startsWith(SLASH)) throw refuse('leads to an absolute path');
  if (leadsOut(components.join(SLASH), text)) throw refuse('leads out of the workspace');
}

function pathOf(components: readonly string[]): Buffer {
  return Buffer.from(components.join(SLASH), 'latin1');
}

/** The entries that the archive has brought so far. */
class Tree {
  readonly #types = new Map<string, TreeEntry['type']>();
  readonly #limits: ArchiveLimits;

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
  }

  /** The directories above this path that no entry has brought. */
  *above(components: readonly string[], modifiedMs: number): Generator<TreeEntry, void> {
    for (let depth = 1; depth < components.length; depth++) {
      const path = components.slice(0, depth).join(SLASH);
      const type = this.#types.get(path);
      if (type === 'directory') continue;
      if (type !== undefined) {
        const [below, above] = [pathOf(components), Buffer.from(path, 'latin1')];
        const what = type === 'file' ? 'file' : 'link';
        throw new ArchiveError(`the entry ${shownName(below)} lies below the ${what} ${shownName(above)}`);
      }
      this.#set(path, 'directory');
      const name = Buffer.from(path, 'latin1');
      yield { name, type: 'directory', size: 0, mode: 0o755, modifiedMs, content: noContent };
    }
  }

  /** False for a directory that is known already. */
  add(components: readonly string[], { type, name }: ArchivedEntry): boolean {
    const path = components.join(SLASH);
    const known = this.#types.get(path);
    if (known === 'directory' && type === 'directory') return false;
    if (known !== undefined) throw new ArchiveError(`it has the entry ${shownName(name)} twice`);
    this.#set(path, type);
    return true;
  }

  #set(path: string, type: TreeEntry['type']): void {
    this.#types.set(path, type);
    if (this.#types.size > this.#limits.maxEntries) throw tooMany(this.#limits);
  }
}

/**
 * The entries of a tree, in the order of a walk. Everything is opened inside the generators, so that their end closes
 * it: if a descriptor were closed from outside while a path still goes through it, it could already belong to another
 * workspace.
 *
 * Small files are read whole, several at a time: for them the hops to the thread pool take most of the time.
 */
import { type FileHandle, readlink, stat } from 'node:fs/promises';
import { WorkspacePathError } from '../files/path-components.ts';
import {
  describeErrors,
  inside,
  type Name,
  openDirectory,
  openReference,
  openReferenced,
} from '../files/workspace-path.ts';
import { ahead } from './ahead.ts';
import type { TreeEntry } from './archive-entry.ts';
import { exactBytes } from './exact-bytes.ts';
import { changed, isMissing, isPassing, tooLarge, toSandboxError } from './failures.ts';
import { MAX_DEPTH, Walk, type WalkedDirectory } from './walk.ts';
import { atPlace, type WorkspacePlace } from './workspace-place.ts';

const AT_ONCE = 16;
const SMALL_BYTES = 64 * 1024;

export interface TreeSource {
  /** Of the workspace on the host. */
  place: WorkspacePlace;
  components: readonly string[];
  /** A file at that path and not a directory. */
  isFile: boolean;
}

export interface TreeOptions {
  signal: AbortSignal;
  /** Called for an entry that is left out: neither file, directory nor link, or unreadable. */
  onOmitted?: (() => void) | undefined;
}

/** What a name turned out to be. */
interface Prepared extends AsyncDisposable {
  name: Buffer;
  /** Undefined for what is no entry, or is gone. */
  entry: TreeEntry | undefined;
}

export async function* treeEntries(
  { place, components, isFile }: TreeSource,
  options: TreeOptions,
): AsyncGenerator<TreeEntry, void> {
  try {
    await using workspace = await atPlace(place, (dir) => openDirectory(dir, []));
    // The directory that is open now, whatever its name leads to later. The dot keeps it from being a link.
    const root = `/proc/self/fd/${workspace.fd}/.`;
    yield* (isFile ? oneFile : tree)(root, components, options);
    if (!(await isStillAt(place, workspace))) throw changed('The workspace');
  } catch (error) {
    throw toSandboxError(error);
  }
}

async function* oneFile(
  root: string,
  path: readonly string[],
  options: TreeOptions,
): AsyncGenerator<TreeEntry, void> {
  const components = path.slice(0, -1);
  await using handle = await openDirectory(root, components);
  await using prepared = await prepare({ handle, components }, Buffer.from(path.at(-1) ?? ''), [], options);
  // It existed a moment ago: an archive without it would look like an empty one.
  if (!prepared.entry) throw changed(path.join('/'));
  yield prepared.entry;
}

async function* tree(
  root: string,
  start: readonly string[],
  options: TreeOptions,
): AsyncGenerator<TreeEntry, void> {
  const walk = new Walk(root, start);
  for await (const directory of walk.directories(options.signal)) {
    const prefix = directory.components.slice(start.length);
    const names = readableNames(directory, directory.components === start, options);
    const below: Name[][] = [];
    for await (const { name, entry } of ahead(names, AT_ONCE, (found) =>
      prepare(directory, found, prefix, options),
    )) {
      if (entry) yield entry;
      if (entry?.type === 'directory') below.push([...directory.components, name]);
    }
    if (walk.descend(below) > 0) {
      throw tooLarge(`There are directories more than ${MAX_DEPTH} levels deep`);
    }
  }
  for (let skipped = 0; skipped < walk.skipped; skipped++) options.onOmitted?.();
}

/** An unreadable directory counts as empty, unless it is the requested one. */
async function* readableNames(
  directory: WalkedDirectory,
  isStart: boolean,
  { onOmitted }: TreeOptions,
): AsyncGenerator<Buffer, void> {
  try {
    yield* directory.names();
  } catch (error) {
    if (isStart || !isPassing(error)) throw error;
    onOmitted?.();
  }
}

async function prepare(
  { handle, components }: Pick<WalkedDirectory, 'handle' | 'components'>,
  name: Buffer,
  prefix: readonly Name[],
  { signal, onOmitted }: TreeOptions,
): Promise<Prepared> {
  const path = [...components, name];
  const result = (entry?: TreeEntry, file?: FileHandle): Prepared => ({
    name,
    entry,
    [Symbol.asyncDispose]: async () => file?.close(),
  });
  const whole = (entry: Omit<TreeEntry, 'size' | 'content'>, blocks: readonly Buffer[]): Prepared =>
    result({ ...entry, size: lengthOf(blocks), content: () => each(blocks) });
  await using reference = await unlessPassing(openReference(handle, name, path), onOmitted);
  const stats = await reference?.stat();
  if (!reference || !stats) return result();
  const { mode, mtimeMs: modifiedMs } = stats;
  const described = { name: joinBytes([...prefix, name]), mode, modifiedMs };
  if (stats.isDirectory()) return whole({ ...described, type: 'directory' }, []);
  if (stats.isSymbolicLink()) {
    const target = await unlessPassing(linkTarget(handle, name, path), onOmitted);
    return target ? whole({ ...described, type: 'symlink' }, [target]) : result();
  }
  const file = stats.isFile()
    ? await unlessPassing(openReferenced(reference, path), onOmitted)
    : onOmitted?.();
  if (!file) return result();
  const { size } = stats;
  const content = () => exactBytes(file, { start: 0, end: size, path: path.join('/') }, signal);
  if (size > SMALL_BYTES) return result({ ...described, type: 'file', size, content }, file);
  await using _ = file;
  const blocks: Buffer[] = [];
  for await (const block of content()) blocks.push(block);
  return whole({ ...described, type: 'file' }, blocks);
}

/** By its name, because the target of a link reference cannot be read. */
async function linkTarget(directory: FileHandle, name: Buffer, path: readonly Name[]): Promise<Buffer> {
  try {
    return await describeErrors(path, () => readlink(inside(directory, name), { encoding: 'buffer' }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    throw new WorkspacePathError(`${path.join('/')} is no link any more.`, { cause: error });
  }
}

async function* each(blocks: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  yield* blocks;
}

function lengthOf(blocks: readonly Buffer[]): number {
  return blocks.reduce((sum, block) => sum + block.length, 0);
}

async function unlessPassing<T>(work: Promise<T>, onOmitted?: () => void): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!isPassing(error)) throw error;
    if (!isMissing(error)) onOmitted?.();
    return undefined;
  }
}

async function isStillAt(place: WorkspacePlace, workspace: FileHandle): Promise<boolean> {
  const opened = await workspace.stat({ bigint: true });
  const now = await atPlace(place, (dir) => stat(dir, { bigint: true })).catch(() => undefined);
  return now !== undefined && now.ino === opened.ino && now.dev === opened.dev;
}

function joinBytes(names: readonly Name[]): Buffer {
  return Buffer.concat(
    names.flatMap((name, i) => [...(i > 0 ? [Buffer.from('/')] : []), Buffer.from(name as Buffer)]),
  );
}

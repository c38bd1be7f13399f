/**
 * The entries of an archive, in the order in which a walk finds them. Everything is opened inside the generators, so
 * that their end closes it: a descriptor closed from outside while a path still goes through it could by then belong
 * to another workspace.
 *
 * Small files are read whole, several at a time: for them the hops to the thread pool are what takes the time.
 */
import { type FileHandle, stat } from 'node:fs/promises';
import { SandboxError } from '../../errors.ts';
import { type Name, openDirectory, openReference, openReferenced } from '../files/workspace-path.ts';
import { ahead } from './ahead.ts';
import type { ArchiveEntry } from './archive-entry.ts';
import { exactBytes } from './exact-bytes.ts';
import { changed, isPassing, toSandboxError } from './failures.ts';
import { MAX_DEPTH, Walk, type WalkedDirectory } from './walk.ts';
import { atPlace, type WorkspacePlace } from './workspace-place.ts';

const AT_ONCE = 16;
const SMALL_BYTES = 64 * 1024;

export interface ArchiveSource {
  /** Of the workspace on the host. */
  place: WorkspacePlace;
  components: readonly string[];
  /** A file at that path and not a directory. */
  isFile: boolean;
}

/** What a name turned out to be. */
interface Prepared extends AsyncDisposable {
  name: Buffer;
  /** Undefined for what does not belong into an archive, or is gone. */
  entry: ArchiveEntry | undefined;
}

export async function* archiveEntries(
  { place, components, isFile }: ArchiveSource,
  maxEntries: number,
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry, void> {
  try {
    await using workspace = await atPlace(place, (dir) => openDirectory(dir, []));
    // The directory that is open now, whatever its name leads to later. The dot makes it no link.
    const root = `/proc/self/fd/${workspace.fd}/.`;
    let count = 0;
    for await (const entry of (isFile ? oneFile : tree)(root, components, signal)) {
      if (++count > maxEntries) throw tooLarge(`There are more than ${maxEntries} files and directories`);
      yield entry;
    }
    if (!(await isStillAt(place, workspace))) throw changed('The workspace');
  } catch (error) {
    throw toSandboxError(error);
  }
}

async function* oneFile(
  root: string,
  path: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry, void> {
  const components = path.slice(0, -1);
  await using handle = await openDirectory(root, components);
  await using prepared = await prepare({ handle, components }, Buffer.from(path.at(-1) ?? ''), [], signal);
  // It was there a moment ago: an archive without it would look like an empty one.
  if (!prepared.entry) throw changed(path.join('/'));
  yield prepared.entry;
}

async function* tree(
  root: string,
  start: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry, void> {
  const walk = new Walk(root, start);
  for await (const directory of walk.directories(signal)) {
    const prefix = directory.components.slice(start.length);
    const names = readableNames(directory, directory.components === start);
    const below: Name[][] = [];
    for await (const { name, entry } of ahead(names, AT_ONCE, (found) =>
      prepare(directory, found, prefix, signal),
    )) {
      if (entry) yield entry;
      if (entry?.type === 'directory') below.push([...directory.components, name]);
    }
    if (walk.descend(below) > 0) {
      throw tooLarge(`There are directories more than ${MAX_DEPTH} levels deep`);
    }
  }
}

/** A directory without the right to read it is archived as an empty one, unless it is all that was asked for. */
async function* readableNames(directory: WalkedDirectory, isStart: boolean): AsyncGenerator<Buffer, void> {
  try {
    yield* directory.names();
  } catch (error) {
    if (isStart || !isPassing(error)) throw error;
  }
}

async function prepare(
  { handle, components }: Pick<WalkedDirectory, 'handle' | 'components'>,
  name: Buffer,
  prefix: readonly Name[],
  signal: AbortSignal,
): Promise<Prepared> {
  const path = [...components, name];
  const result = (entry?: ArchiveEntry, file?: FileHandle): Prepared => ({
    name,
    entry,
    [Symbol.asyncDispose]: async () => file?.close(),
  });
  await using reference = await unlessPassing(openReference(handle, name, path));
  const stats = await reference?.stat();
  if (!reference || !stats) return result();
  const { mode, mtimeMs: modifiedMs } = stats;
  const described = { name: joinBytes([...prefix, name]), mode, modifiedMs };
  if (stats.isDirectory()) {
    return result({ ...described, type: 'directory', size: 0, content: () => each([]) });
  }
  if (!stats.isFile()) return result();
  const file = await unlessPassing(openReferenced(reference, path));
  if (!file) return result();
  const { size } = stats;
  const content = () => exactBytes(file, { start: 0, end: size, path: path.join('/') }, signal);
  if (size > SMALL_BYTES) return result({ ...described, type: 'file', size, content }, file);
  await using _ = file;
  const blocks: Buffer[] = [];
  for await (const block of content()) blocks.push(block);
  return result({ ...described, type: 'file', size, content: () => each(blocks) });
}

async function* each(blocks: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  yield* blocks;
}

async function unlessPassing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isPassing(error)) return undefined;
    throw error;
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

export function tooLarge(what: string): SandboxError {
  return new SandboxError('artifact_too_large', `${what}; archive a part of it.`);
}

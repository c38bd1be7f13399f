/**
 * Opening files of a workspace from outside the sandbox, while commands may be changing it.
 *
 * The kernel never resolves a whole path: each component is opened by name inside the directory opened before it
 * (`/proc/self/fd/<directory>/<name>`), never following a link. So a link swapped in at any moment makes the call fail;
 * it cannot lead outside. The last component is first opened as a mere reference (O_PATH), examined, and opened for
 * reading only if it is a regular file: a FIFO would block, and opening a device may have an effect.
 */
import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chown, type FileHandle, lstat, mkdir, open, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ownedName } from '../owned-names.ts';
import { WorkspacePathError } from './path-components.ts';
import { Turns } from './turns.ts';

/** Linux's value on every architecture Node is built for; node:fs does not name it. */
const O_PATH = 0o10000000;
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A component of a path; as bytes if it was found on disk and may not be UTF-8. */
export type Name = string | Buffer;

/** Calls `use` with the regular file at this place, open for reading. */
export async function withFile<T>(
  root: string,
  components: readonly string[],
  use: (file: FileHandle, stats: Stats) => Promise<T>,
): Promise<T> {
  const { parents, name } = splitName(components);
  await using parent = await openDirectory(root, parents);
  await using reference = await openReference(parent, name, components);
  const stats = await reference.stat();
  assertRegular(stats, components);
  await using file = await openReferenced(reference, components);
  return await use(file, stats);
}

/** The kind of the entry at this path: a directory or a regular file; anything else is an error. */
export async function kindAt(root: string, components: readonly string[]): Promise<'directory' | 'file'> {
  const name = components.at(-1);
  if (name === undefined) return 'directory';
  await using parent = await openDirectory(root, components.slice(0, -1));
  const stats = await describeErrors(components, () => lstat(inside(parent, name)));
  if (stats.isDirectory()) return 'directory';
  assertRegular(stats, components);
  return 'file';
}

/** Whatever has this name, opened only to examine it: this never blocks and has no effect. */
export function openReference(
  directory: FileHandle,
  name: Name,
  components: readonly Name[],
): Promise<FileHandle> {
  return openInside(directory, name, O_PATH | constants.O_NOFOLLOW, components);
}

/** The file that a reference points to, for reading; only if it is known to be a regular file. */
export function openReferenced(reference: FileHandle, components: readonly Name[]): Promise<FileHandle> {
  return describeErrors(components, () => open(`/proc/self/fd/${reference.fd}`, 'r'));
}

/** Creates a file that must not exist yet, with the directories above it. The caller closes it. */
export async function createFile(
  root: string,
  components: readonly string[],
  options: OpenDirectory,
): Promise<FileHandle> {
  const { parents, name } = splitName(components);
  await using parent = await openDirectory(root, parents, options);
  return await createInside(parent, name, components);
}

/** Creates a file that must not exist yet. Like everything in a workspace it belongs to the owner of its directory. */
export async function createInside(
  directory: FileHandle,
  name: string,
  components: readonly string[],
): Promise<FileHandle> {
  const file = await openInside(directory, name, NEW_FILE, components);
  try {
    await giveToOwnerOf(directory, file);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Only a server that runs as root creates files that do not belong to its commands. */
async function giveToOwnerOf(directory: FileHandle, made: FileHandle): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await directory.stat();
  await chown(`/proc/self/fd/${made.fd}`, uid, gid);
}

/** For a file that gets its name in one step, when it is complete. */
export function temporaryIn(directory: FileHandle): { name: string; path: string } {
  const name = `.talaria-${randomUUID()}`;
  return { name, path: inside(directory, name) };
}

export interface OpenDirectory {
  /** Missing directories are created, in this directory beside the workspaces until they are complete. */
  stagingDir?: string | undefined;
}

export async function openDirectory(
  root: string,
  components: readonly Name[],
  { stagingDir }: OpenDirectory = {},
): Promise<FileHandle> {
  let directory = await describeErrors([], () => open(root, DIRECTORY));
  for (const [index, name] of components.entries()) {
    await using parent = directory;
    const upToHere = components.slice(0, index + 1);
    if (stagingDir !== undefined)
      await makingTurns.take(root, () => makeDirectory(stagingDir, parent, name, upToHere));
    directory = await openInside(parent, name, DIRECTORY, upToHere);
  }
  return directory;
}

/** By workspace: what one of us has just made is never replaced by another. */
const makingTurns = new Turns();
/** A command has made it meanwhile. */
const MADE_BY_OTHERS: ReadonlySet<string | undefined> = new Set(['EEXIST', 'ENOTEMPTY', 'ENOTDIR']);

/**
 * Makes a directory, if there is nothing of that name. It gets its name when it has its owner: commands work beside this, and one that
 * belongs to the server, even for a moment, they could not use; a server that is killed in that moment would leave it so. If a
 * command makes the same directory in that moment and has put nothing into it, this one takes its place.
 */
async function makeDirectory(
  stagingDir: string,
  parent: FileHandle,
  name: Name,
  components: readonly Name[],
): Promise<void> {
  const path = inside(parent, name);
  if (await describeErrors(components, () => ignoreMissing(lstat(path)))) return;
  const make = async (temporary: string): Promise<void> => {
    await mkdir(temporary, { mode: 0o755 });
    try {
      await using made = await open(temporary, DIRECTORY);
      await giveToOwnerOf(parent, made);
      await rename(temporary, path);
    } catch (error) {
      await rmdir(temporary).catch(() => {});
      throw error;
    }
  };
  try {
    await make(join(stagingDir, ownedName())).catch((error: NodeJS.ErrnoException) => {
      // A mounted directory may be on another file system.
      if (error.code !== 'EXDEV') throw error;
      return make(temporaryIn(parent).path);
    });
  } catch (error) {
    if (MADE_BY_OTHERS.has((error as NodeJS.ErrnoException).code)) return;
    throw describeError(error as NodeJS.ErrnoException, components);
  }
}

function openInside(
  directory: FileHandle,
  name: Name,
  flags: number,
  components: readonly Name[],
): Promise<FileHandle> {
  return describeErrors(components, () => open(inside(directory, name), flags, 0o644));
}

export function inside(directory: FileHandle, name: string): string;
export function inside(directory: FileHandle, name: Name): Name;
export function inside(directory: FileHandle, name: Name): Name {
  const parent = `/proc/self/fd/${directory.fd}/`;
  return typeof name === 'string' ? parent + name : Buffer.concat([Buffer.from(parent), name]);
}

export function splitName(components: readonly string[]): { parents: readonly string[]; name: string } {
  const name = components.at(-1);
  if (name === undefined)
    throw new WorkspacePathError('The path is the workspace itself, which is a directory.');
  return { parents: components.slice(0, -1), name };
}

export function assertRegular(
  stats: Pick<Stats, 'isFile' | 'isSymbolicLink' | 'isDirectory'>,
  components: readonly Name[],
): void {
  if (stats.isFile()) return;
  const path = components.join('/');
  if (stats.isSymbolicLink()) {
    throw new WorkspacePathError(`${path} is a symbolic link, which file tools do not follow.`);
  }
  if (stats.isDirectory()) throw new WorkspacePathError(`${path} is a directory.`);
  throw new WorkspacePathError(`${path} is not a regular file.`);
}

export async function ignoreMissing<T>(operation: Promise<T>): Promise<T | undefined> {
  return operation.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

export async function describeErrors<T>(
  components: readonly Name[],
  operation: () => Promise<T>,
): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw describeError(error as NodeJS.ErrnoException, components);
  }
}

const MESSAGES: Record<string, string> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a directory, or is a symbolic link, which file tools do not follow',
  ELOOP: 'is a symbolic link, which file tools do not follow',
  EISDIR: 'is a directory',
  EACCES: 'may not be accessed',
  EPERM: 'may not be changed',
  EEXIST: 'exists already',
  ENAMETOOLONG: 'has a name that is too long',
  ENOSPC: 'cannot be written: the disk is full',
  EDQUOT: 'cannot be written: the disk quota is used up',
  EROFS: 'cannot be written: the file system is read-only',
};

export function describeError(error: NodeJS.ErrnoException, components: readonly Name[]): Error {
  const message = error.code === undefined ? undefined : MESSAGES[error.code];
  if (!message) return error;
  return new WorkspacePathError(`${components.join('/') || 'The workspace'} ${message}.`, { cause: error });
}

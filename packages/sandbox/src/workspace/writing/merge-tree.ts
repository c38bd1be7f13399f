/**
 * Moves a tree into a workspace that may have files already. The tree is on the same file system, so each file, and each
 * directory that is new, moves in one step. The tree is ours alone; the workspace may be changing.
 */
import { chmod, type FileHandle, lstat, rename } from 'node:fs/promises';
import { Walk } from '../artifacts/walk.ts';
import { WorkspacePathError } from '../files/path-components.ts';
import {
  describeErrors,
  ignoreMissing,
  inside,
  type Name,
  openDirectory,
  openReference,
} from '../files/workspace-path.ts';

const WRITABLE = 0o700;

export async function mergeInto(dir: string, tree: string): Promise<void> {
  const walk = new Walk(tree, []);
  for await (const { components, handle, names } of walk.directories()) {
    await using target = await openDirectory(dir, components);
    const both: (readonly Name[])[] = [];
    // All names first: moving an entry changes the directory that is being read.
    const all: Buffer[] = [];
    for await (const name of names()) all.push(name);
    for (const name of all) {
      const path = [...components, name];
      if (!(await moveEntry(handle, target, name, path))) both.push(path);
    }
    if (walk.descend(both) > 0) throw new WorkspacePathError(`${components.join('/')} is too deep.`);
  }
  if (walk.skipped > 0) throw new WorkspacePathError('A directory of the tree cannot be read.');
}

/** False for a directory that exists on both sides: its entries have to be moved one by one. */
async function moveEntry(
  source: FileHandle,
  target: FileHandle,
  name: Name,
  path: readonly Name[],
): Promise<boolean> {
  const [from, to] = [inside(source, name), inside(target, name)];
  const given = await lstat(from);
  const existing = await describeErrors(path, () => ignoreMissing(lstat(to)));
  if (given.isDirectory() && existing?.isDirectory()) return false;
  if (existing && given.isDirectory()) throw inTheWay(path, 'exists already and is not a directory');
  if (existing?.isDirectory()) throw inTheWay(path, 'is a directory, and a file should go there');
  const move = () => describeErrors(path, () => rename(from, to));
  if (given.isDirectory()) await whileWritable(source, name, given.mode, move);
  else await move();
  return true;
}

/**
 * Moving a directory to another needs the permission to write to it. Its permissions are changed by descriptor, because
 * something else may have its name in the meantime.
 */
async function whileWritable(
  source: FileHandle,
  name: Name,
  mode: number,
  move: () => Promise<void>,
): Promise<void> {
  if ((mode & WRITABLE) === WRITABLE) return move();
  await using directory = await openReference(source, name, [name]);
  const path = `/proc/self/fd/${directory.fd}`;
  await chmod(path, mode | WRITABLE);
  await move();
  await chmod(path, mode & 0o777);
}

function inTheWay(path: readonly Name[], what: string): WorkspacePathError {
  return new WorkspacePathError(`${path.join('/')} ${what}.`);
}

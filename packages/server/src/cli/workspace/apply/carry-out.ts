/**
 * Makes the planned changes in the directory.
 *
 * - Before the first one, everything is looked at again: if something has changed since the plan was made, nothing is done.
 * - Each file arrives by being renamed, so it is the old or the new one, as a whole.
 * - First everything is removed, then written: a directory may become a file, and the other way round. After a kill in
 *   between, a new plan has what is left to do.
 * - Nothing is written through a link, also not through one that has just been written: two names that differ in their case
 *   may be one here.
 */
import { constants } from 'node:fs';
import { access, lstat, mkdir, open, readdir, rename, rmdir, stat, symlink, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { failpoint } from '../../../basics/failpoints.ts';
import { CommandError } from '../../command-error.ts';
import { shownPath } from '../../text/shown-path.ts';
import type { LocalFiles } from './local-files.ts';
import type { Change } from './plan.ts';

export async function carryOut(changes: readonly Change[], local: LocalFiles): Promise<void> {
  const { root } = local;
  for (const change of changes) await complete(change, root);
  await checkAgain(changes, local);
  const written = changes.filter(({ action }) => action === 'write');
  const removed = changes.filter(({ action }) => action === 'remove').map(({ path }) => path);
  for (const path of removed) {
    await unlink(join(root, path));
    failpoint('apply.after-change');
  }
  const needed = new Set(written.flatMap(({ path }) => above(path)));
  for (const directory of emptied(removed)) {
    if (!needed.has(directory)) await rmdir(join(root, directory)).catch(() => {});
  }
  for (const change of written) {
    const place = join(root, change.path);
    await makeAbove(root, change.path);
    await removeEmpty(place);
    await rename(change.copy!, place);
    failpoint('apply.after-change');
  }
  for (const { path, action, entry } of changes) {
    if (action !== 'mode' || entry.type !== 'file') continue;
    await makeAbove(root, path);
    await setExecutable(join(root, path), entry.executable);
  }
}

/** The directories above a path, as far as they do not exist yet. */
async function makeAbove(root: string, path: string): Promise<void> {
  for (const directory of above(path).reverse()) {
    const place = join(root, directory);
    await mkdir(place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if ((await lstat(place)).isDirectory()) continue;
    throw new CommandError(
      `${shownPath(path)} was not written: ${shownPath(directory)} is not a directory any more; some changes were already made`,
    );
  }
}

/** Everything that may fail for want of room or rights comes before the first change. */
async function complete({ path, action, entry, copy, isNew }: Change, root: string): Promise<void> {
  if (action !== 'write' || copy === undefined) return;
  if (entry.type === 'symlink') await symlink(entry.target, copy);
  if (entry.type !== 'file') return;
  const mode = isNew ? undefined : await modeOf(join(root, path));
  await setExecutable(copy, entry.executable, mode);
}

async function checkAgain(changes: readonly Change[], local: LocalFiles): Promise<void> {
  const { dev } = await stat(local.root);
  for (const { path, seen } of changes) {
    if (seen !== undefined && (await local.see(path)) !== seen) {
      throw new CommandError(`${shownPath(path)} has just changed here; nothing was applied. Try again`);
    }
    const directory = await existing(local.root, dirname(path));
    const stats = await stat(directory);
    if (stats.dev !== dev) {
      throw new CommandError(
        `${shownPath(path)} is on another file system than ${shownPath(local.root)}; nothing was applied`,
      );
    }
    await access(directory, constants.W_OK | constants.X_OK).catch(() => {
      throw new CommandError(`This user may not write into ${shownPath(directory)}; nothing was applied`);
    });
  }
}

/** The deepest directory on the way that exists. What is no directory is about to be removed. */
async function existing(root: string, path: string): Promise<string> {
  const place = join(root, path);
  const stats = await lstat(place).catch(() => undefined);
  return stats?.isDirectory() === true || path === '.' ? place : existing(root, dirname(path));
}

/** All directories above these paths, the deepest ones first. */
function emptied(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap(above))].sort((one, other) => depthOf(other) - depthOf(one));
}

function above(path: string): string[] {
  const directory = dirname(path);
  return directory === '.' ? [] : [directory, ...above(directory)];
}

function depthOf(path: string): number {
  return path.split('/').length;
}

/** A directory in which there are only directories; anything else stays. */
async function removeEmpty(place: string): Promise<void> {
  const stats = await lstat(place).catch(() => undefined);
  if (!stats?.isDirectory()) return;
  for (const name of await readdir(place)) await removeEmpty(join(place, name));
  await rmdir(place);
}

/** Undefined for a link. */
async function modeOf(place: string): Promise<number | undefined> {
  const stats = await lstat(place).catch(() => undefined);
  return stats?.isFile() ? stats.mode & 0o777 : undefined;
}

/** Whoever may read it may execute it, or nobody. */
async function setExecutable(place: string, executable: boolean, given?: number): Promise<void> {
  await using file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW);
  const mode = given ?? (await file.stat()).mode & 0o777;
  await file.chmod(executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111);
}

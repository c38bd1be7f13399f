/**
 * Puts staged content into a workspace directory on this machine. Every component of a path is opened inside the
 * directory opened before it, and no link is followed (files/workspace-path.ts).
 */
import { chmod, link, lstat, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SandboxError } from '../../errors.ts';
import type { MergedTree, RemoveOptions, WriteConditions, WrittenFile } from '../../writing.ts';
import { hashFile } from '../artifacts/digests.ts';
import { nameFailures } from '../artifacts/failures.ts';
import { requestedPath } from '../artifacts/requested-path.ts';
import { InvalidPathError } from '../files/path-components.ts';
import { fileTurns } from '../files/turns.ts';
import {
  assertRegular,
  describeErrors,
  ignoreMissing,
  inside,
  openDirectory,
  openReference,
  splitName,
  withFile,
} from '../files/workspace-path.ts';
import { giveTreeTo } from '../give-tree-to.ts';
import { removeReachableTree } from '../remove-tree.ts';
import type { Workspaces } from '../workspaces.ts';
import { mergeInto } from './merge-tree.ts';
import { dress, moveIn } from './staged-file.ts';
import type { StagedFile, StagedTree } from './staging.ts';

/** A workspace that stays where it is for the time of a call. */
export interface WritableWorkspace {
  put(path: string, staged: StagedFile, conditions: WriteConditions): Promise<WrittenFile>;
  remove(path: string, options: RemoveOptions): Promise<void>;
  merge(tree: StagedTree): Promise<MergedTree>;
}

export interface DirectoryOptions {
  dir: string;
  /** The directory as commands see it. */
  workspaceDir: string;
  /** Moves something out of the workspace, to be deleted; resolves when it is out. */
  trash(path: string): Promise<void>;
  /** Rejects if there is no room for this many bytes. */
  admit(bytes: number): Promise<void>;
  /** How many bytes a staged tree takes; absent if nobody counts. */
  usage?: ((dir: string) => Promise<number>) | undefined;
}

export class WorkspaceDirectory implements WritableWorkspace {
  readonly #options: DirectoryOptions;

  constructor(options: DirectoryOptions) {
    this.#options = options;
  }

  put(path: string, staged: StagedFile, conditions: WriteConditions): Promise<WrittenFile> {
    const { dir, admit } = this.#options;
    return this.#changing(async () => {
      const components = this.#components(path);
      const { parents, name } = splitName(components);
      await assertConditions(dir, components, conditions);
      await admit(staged.size);
      await using parent = await openDirectory(dir, parents, { stagingDir: dirname(staged.path) });
      const target = inside(parent, name);
      const existing = await describeErrors(components, () => ignoreMissing(lstat(target)));
      if (existing) assertRegular(existing, components);
      await dress(staged.path, parent, existing?.mode);
      await moveIn(staged.path, parent, (source) =>
        // A link does not replace what a command creates at this moment; a rename would.
        conditions.ifNoneMatch === '*'
          ? putNew(source, target, components)
          : describeErrors(components, () => rename(source, target)),
      );
      const { mtimeMs } = (await ignoreMissing(lstat(target))) ?? { mtimeMs: Date.now() };
      const { size, sha256 } = staged;
      return { path: components.join('/'), size, sha256, modifiedAt: mtimeMs / 1000, isNew: !existing };
    });
  }

  remove(path: string, { recursive = false, ...conditions }: RemoveOptions): Promise<void> {
    const { dir, trash } = this.#options;
    return this.#changing(async () => {
      const components = this.#components(path);
      const { parents, name } = splitName(components);
      await assertConditions(dir, components, conditions);
      await using parent = await openDirectory(dir, parents);
      const target = inside(parent, name);
      const stats = await describeErrors(components, () => lstat(target));
      if (!stats.isDirectory()) await describeErrors(components, () => unlink(target));
      else if (recursive) {
        await using directory = await openReference(parent, name, components);
        // Moving a directory needs the permission to write to it, which a command may have removed.
        // In a mounted directory it may belong to another user; then the deletion says what it lacks.
        await chmod(`/proc/self/fd/${directory.fd}`, 0o700).catch(() => {});
        await describeErrors(components, () => trash(target));
      } else await removeEmpty(target, components);
    });
  }

  merge(tree: StagedTree): Promise<MergedTree> {
    const { dir, admit, usage } = this.#options;
    return this.#changing(async () => {
      if (usage) await admit(await usage(tree.dir));
      const { uid, gid } = await lstat(dir);
      await giveTreeTo(tree.dir, { uid, gid });
      await mergeInto(dir, tree.dir);
      return { entries: tree.entries, omitted: tree.omitted };
    });
  }

  #components(path: string): string[] {
    return requestedPath(path, this.#options.workspaceDir);
  }

  /** In turn with the file tools: none of them overwrites what it has not seen. */
  #changing<T>(work: () => Promise<T>): Promise<T> {
    return nameFailures(() => fileTurns.take(this.#options.dir, work));
  }
}

/** A workspace in no slot: nothing measures it until a slot has it. */
export function keptWorkspace(
  workspaces: Workspaces,
  name: string,
  workspaceDir: string,
): WorkspaceDirectory {
  return new WorkspaceDirectory({
    dir: workspaces.at(name).dir,
    workspaceDir,
    trash: workspaces.trash,
    admit: async () => {},
  });
}

/** Deletes a directory in its place, entry by entry, because it cannot be moved away in one step. */
export async function removeInPlace(path: string): Promise<void> {
  // Another process does it, which has descriptors of its own.
  await removeReachableTree(path.replace(/^\/proc\/self\//, `/proc/${process.pid}/`));
}

async function putNew(source: string, target: string, components: readonly string[]): Promise<void> {
  try {
    await link(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw mismatch(components, 'exists already');
    await describeErrors(components, () => Promise.reject(error));
  }
}

async function removeEmpty(target: string, components: readonly string[]): Promise<void> {
  try {
    await rmdir(target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST')
      return describeErrors(components, () => Promise.reject(error));
    throw new InvalidPathError(`${components.join('/')} is a directory that is not empty.`);
  }
}

async function assertConditions(
  dir: string,
  components: readonly string[],
  { ifMatch, ifNoneMatch }: WriteConditions,
): Promise<void> {
  if (ifMatch === undefined && ifNoneMatch === undefined) return;
  const isThere = await exists(dir, components);
  if (ifNoneMatch === '*' && isThere) throw mismatch(components, 'exists already');
  if (ifMatch !== undefined && !isThere) throw mismatch(components, 'does not exist');
  const wanted = Array.isArray(ifMatch) ? (ifMatch as readonly string[]) : undefined;
  const unwanted = Array.isArray(ifNoneMatch) ? (ifNoneMatch as readonly string[]) : undefined;
  if (!isThere || (wanted === undefined && unwanted === undefined)) return;
  const sha256 = await withFile(dir, components, (file, { size }) =>
    hashFile(file, size, components.join('/')),
  );
  if (wanted?.includes(sha256) === false) throw mismatch(components, `has changed: its sha256 is ${sha256}`);
  if (unwanted?.includes(sha256)) throw mismatch(components, `has the sha256 ${sha256}`);
}

/** Whether anything is there, of whatever kind; if a directory above it is missing, nothing is. */
async function exists(dir: string, components: readonly string[]): Promise<boolean> {
  const { parents, name } = splitName(components);
  try {
    await using parent = await openDirectory(dir, parents);
    return (await ignoreMissing(lstat(inside(parent, name)))) !== undefined;
  } catch (error) {
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return false;
    throw error;
  }
}

function mismatch(components: readonly string[], what: string): SandboxError {
  return new SandboxError('precondition_failed', `${components.join('/')} ${what}; nothing was changed.`);
}

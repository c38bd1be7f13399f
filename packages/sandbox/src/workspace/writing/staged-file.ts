/**
 * Files on their way into a workspace, complete before they get their names: a reader sees the old or the new content completely.
 * Until then they are beside the workspaces, where a start deletes what a killed server left. So nothing of it stays in a workspace,
 * and nobody sees it there.
 */
import { createReadStream } from 'node:fs';
import { chmod, chown, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import {
  assertRegular,
  createInside,
  describeErrors,
  ignoreMissing,
  inside,
  NEW_FILE,
  openDirectory,
  splitName,
  temporaryIn,
} from '../files/workspace-path.ts';
import { writeAll } from '../files/write-all.ts';
import { ownedName } from '../owned-names.ts';

/**
 * Replaces a regular file, or creates it, in one step. The rename replaces whatever has the name at that moment, even a link, and
 * follows nothing. `mode` is for a new file.
 */
export async function replaceFile(
  root: string,
  components: readonly string[],
  content: string | Uint8Array,
  { stagingDir, mode }: { stagingDir: string; mode?: number },
): Promise<void> {
  const { parents, name } = splitName(components);
  await using parent = await openDirectory(root, parents, { stagingDir });
  const target = inside(parent, name);
  const existing = await describeErrors(components, () => ignoreMissing(lstat(target)));
  if (existing) assertRegular(existing, components);
  const staged = await describeErrors(components, () => stageFile(stagingDir, content));
  try {
    await dress(staged, parent, existing?.mode ?? mode);
    await moveIn(staged, parent, (source) => describeErrors(components, () => rename(source, target)));
  } finally {
    await ignoreMissing(unlink(staged));
  }
}

/** The path of a new file in the staging directory. */
export async function stageFile(stagingDir: string, content: string | Uint8Array): Promise<string> {
  const path = join(stagingDir, ownedName());
  try {
    await using file = await open(path, NEW_FILE, 0o644);
    await file.writeFile(content);
    return path;
  } catch (error) {
    await ignoreMissing(unlink(path));
    throw error;
  }
}

/** The owner and the permissions that a staged file will have, before anybody sees it. */
export async function dress(staged: string, parent: FileHandle, mode: number | undefined): Promise<void> {
  const { uid, gid } = await parent.stat();
  if (process.getuid?.() === 0) await chown(staged, uid, gid);
  if (mode !== undefined) await chmod(staged, mode & 0o777);
}

/** A mounted directory may be on another file system than the staged file, which then has to be copied first. */
export async function moveIn(
  staged: string,
  parent: FileHandle,
  put: (source: string) => Promise<void>,
): Promise<void> {
  try {
    await put(staged);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    const copy = temporaryIn(parent);
    try {
      await copyStaged(staged, parent, copy.name);
      await put(copy.path);
    } finally {
      await ignoreMissing(unlink(copy.path));
    }
  }
}

async function copyStaged(staged: string, parent: FileHandle, name: string): Promise<void> {
  await using file = await createInside(parent, name, [name]);
  for await (const chunk of createReadStream(staged)) await writeAll(file, chunk);
  await file.chmod((await lstat(staged)).mode & 0o777);
}

/**
 * Changes several files together: all of them, or none.
 *
 *   staged (all new content is on disk under other names) ─nothing changed since it was read→ put in place ─→ done
 *   any step fails ─→ what was put in place is taken back, the rest is thrown away
 *
 * A reader sees each file change in one step. A process killed in between leaves some files changed and some not; if a
 * command changes a file between the second check and the rename, that change is overwritten.
 */
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, rename, unlink } from 'node:fs/promises';
import { WorkspacePathError } from './path-components.ts';
import {
  createInside,
  describeErrors,
  ignoreMissing,
  inside,
  openDirectory,
  replaceFile,
  splitName,
  withFile,
} from './workspace-path.ts';

/** A file as it was read. */
export interface SeenFile {
  stats: Stats;
  content: Buffer;
}

export type FileChange =
  | {
      kind: 'write';
      components: readonly string[];
      content: string;
      before: SeenFile | undefined;
      mode?: number;
    }
  | { kind: 'delete'; components: readonly string[]; before: SeenFile };

interface Staged {
  change: FileChange;
  parent: FileHandle;
  target: string;
  /** Holds the new content until it is put in place, and a deleted file from then on. */
  aside: string;
}

/** The content of the regular file at this path; undefined if there is none. */
export async function seeFile(
  root: string,
  components: readonly string[],
  maxBytes: number,
): Promise<SeenFile | undefined> {
  return ifPresent(
    withFile(root, components, async (file, stats) => {
      if (stats.size > maxBytes) {
        throw new WorkspacePathError(
          `${components.join('/')} has ${stats.size} bytes; files up to ${maxBytes} can be edited.`,
        );
      }
      return { stats, content: await readUpTo(file, stats.size) };
    }),
  );
}

/** Whether there is a regular file at this path; anything else there is an error. */
export async function fileExists(root: string, components: readonly string[]): Promise<boolean> {
  return (await ifPresent(withFile(root, components, async () => true))) ?? false;
}

async function ifPresent<T>(file: Promise<T>): Promise<T | undefined> {
  return file.catch((error: Error) => {
    const cause = error.cause as NodeJS.ErrnoException | undefined;
    if (error instanceof WorkspacePathError && cause?.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** No further than its length when it was opened: a command may be writing to it endlessly. */
async function readUpTo(file: FileHandle, size: number): Promise<Buffer> {
  const content = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(content, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return content.subarray(0, length);
}

export async function changeFiles(root: string, changes: readonly FileChange[]): Promise<void> {
  const staged: Staged[] = [];
  const placed: Staged[] = [];
  try {
    for (const change of changes) staged.push(await stage(root, change));
    for (const change of changes) await assertUnchanged(root, change);
    for (const each of staged) {
      await putInPlace(each);
      placed.push(each);
    }
  } catch (error) {
    for (const each of placed.reverse()) await takeBack(root, each);
    throw error;
  } finally {
    for (const { aside, parent } of staged) {
      await ignoreMissing(unlink(aside)).catch(() => {});
      await parent.close();
    }
  }
}

async function stage(root: string, change: FileChange): Promise<Staged> {
  const { parents, name } = splitName(change.components);
  const parent = await openDirectory(root, parents, { create: change.kind === 'write' });
  const asideName = `.talaria-${randomUUID()}`;
  const staged = { change, parent, target: inside(parent, name), aside: inside(parent, asideName) };
  if (change.kind === 'delete') return staged;
  try {
    await using file = await createInside(parent, asideName, change.components);
    await describeErrors(change.components, () => file.writeFile(change.content));
    const mode = change.before?.stats.mode ?? change.mode;
    if (mode !== undefined) await file.chmod(mode & 0o777);
    return staged;
  } catch (error) {
    await unlink(staged.aside).catch(() => {});
    await parent.close();
    throw error;
  }
}

async function assertUnchanged(root: string, { components, before }: FileChange): Promise<void> {
  const now = await seeFile(root, components, before?.stats.size ?? 0).catch(() => 'changed' as const);
  const unchanged = before === undefined ? now === undefined : isSame(before, now);
  if (unchanged) return;
  throw new WorkspacePathError(
    `${components.join('/')} was changed by something else meanwhile. Nothing was written: read it again.`,
  );
}

function isSame(before: SeenFile, now: SeenFile | 'changed' | undefined): boolean {
  return now !== undefined && now !== 'changed' && now.content.equals(before.content);
}

async function putInPlace({ change, target, aside }: Staged): Promise<void> {
  await describeErrors(change.components, () =>
    change.kind === 'delete' ? rename(target, aside) : rename(aside, target),
  );
}

async function takeBack(root: string, { change, target, aside }: Staged): Promise<void> {
  if (change.kind === 'delete') await rename(aside, target);
  else if (change.before === undefined) await ignoreMissing(unlink(target));
  else if (await ignoreMissing(lstat(target))) {
    await replaceFile(root, change.components, change.before.content);
  }
}

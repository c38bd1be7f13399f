/**
 * Changes several files together: all of them, or none.
 *
 *   staged (all new content is on disk, beside the workspaces) ─nothing changed since it was read→ put in place ─→ done
 *   any step fails ─→ what was put in place is taken back, the rest is thrown away
 *
 * A reader sees each file change in one step. A process killed in between leaves some files changed and some not; if a
 * command changes a file between the second check and the rename, that change is overwritten.
 */
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, rename, unlink } from 'node:fs/promises';
import { WorkspacePathError } from '../files/path-components.ts';
import {
  describeErrors,
  ignoreMissing,
  inside,
  openDirectory,
  splitName,
  withFile,
} from '../files/workspace-path.ts';
import type { Workspace } from '../workspaces.ts';
import { dress, moveIn, replaceFile, stageFile } from './staged-file.ts';

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

/** The directory of the files, and one for those that are on their way there. */
type Place = Pick<Workspace, 'dir' | 'stagingDir'>;

interface Staged {
  change: FileChange;
  parent: FileHandle;
  target: string;
  /** The file with the new content; absent for a deletion. */
  aside?: string;
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

export async function changeFiles(place: Place, changes: readonly FileChange[]): Promise<void> {
  const staged: Staged[] = [];
  const placed: Staged[] = [];
  try {
    for (const change of changes) staged.push(await stage(place, change));
    for (const change of changes) await assertUnchanged(place.dir, change);
    for (const each of staged) {
      await putInPlace(each);
      placed.push(each);
    }
  } catch (error) {
    for (const each of placed.reverse()) await takeBack(place, each);
    throw error;
  } finally {
    for (const { aside, parent } of staged) {
      if (aside !== undefined) await ignoreMissing(unlink(aside)).catch(() => {});
      await parent.close();
    }
  }
}

async function stage({ dir, stagingDir }: Place, change: FileChange): Promise<Staged> {
  const { components, kind } = change;
  const { parents, name } = splitName(components);
  const parent = await openDirectory(dir, parents, kind === 'write' ? { stagingDir } : {});
  const staged = { change, parent, target: inside(parent, name) };
  if (kind === 'delete') return staged;
  let aside: string | undefined;
  try {
    aside = await describeErrors(components, () => stageFile(stagingDir, change.content));
    await dress(aside, parent, change.before?.stats.mode ?? change.mode);
    return { ...staged, aside };
  } catch (error) {
    if (aside !== undefined) await unlink(aside).catch(() => {});
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

async function putInPlace({ change, parent, target, aside }: Staged): Promise<void> {
  const inWords = (step: () => Promise<void>) => describeErrors(change.components, step);
  if (aside === undefined) await inWords(() => unlink(target));
  else await moveIn(aside, parent, (source) => inWords(() => rename(source, target)));
}

async function takeBack({ dir, stagingDir }: Place, { change, target }: Staged): Promise<void> {
  const { kind, components, before } = change;
  if (before === undefined) await ignoreMissing(unlink(target));
  else if (kind === 'delete' || (await ignoreMissing(lstat(target)))) {
    await replaceFile(dir, components, before.content, { stagingDir, mode: before.stats.mode });
  }
}

/**
 * The entries of a tree, in the order of a walk. The thread for files walks and reads (read-tree.ts): with calls that do not
 * block, the hops to the thread pool take most of the time for a small file.
 */
import { type FileHandle, stat } from 'node:fs/promises';
import { openDirectory } from '../files/workspace-path.ts';
import { ByteReader } from '../snapshots/byte-reader.ts';
import { decodeNext } from '../snapshots/snapshot-format.ts';
import { fileThread } from '../thread/file-thread.ts';
import type { TreeEntry } from './archive-entry.ts';
import { changed, toSandboxError } from './failures.ts';
import type { TreeStart } from './read-tree.ts';
import { atPlace, type WorkspacePlace } from './workspace-place.ts';

export interface TreeSource extends Omit<TreeStart, 'dir'> {
  /** The place of the workspace on the host. */
  place: WorkspacePlace;
}

export interface TreeOptions {
  signal: AbortSignal;
  /** Called after the last entry: how many were left out, being neither file, directory nor link, or unreadable. */
  onOmitted?: ((count: number) => void) | undefined;
}

export async function* treeEntries(
  { place, ...start }: TreeSource,
  { signal, onOmitted }: TreeOptions,
): AsyncGenerator<TreeEntry, void> {
  try {
    await using workspace = await atPlace(place, (dir) => openDirectory(dir, []));
    // The directory that is open now, whatever its name leads to later. The dot keeps it from being a link. It is closed
    // after the thread has ended its work: before that, its number could already belong to another workspace.
    const dir = `/proc/self/fd/${workspace.fd}/.`;
    await using chunks = fileThread.readTree({ dir, ...start }, signal);
    const bytes = new ByteReader(chunks);
    for (let next = await decodeNext(bytes); ; next = await decodeNext(bytes)) {
      if (next.type === 'end') {
        onOmitted?.(next.omitted);
        break;
      }
      yield next;
    }
    if (!(await isStillAt(place, workspace))) throw changed('The workspace');
  } catch (error) {
    throw toSandboxError(error);
  }
}

async function isStillAt(place: WorkspacePlace, workspace: FileHandle): Promise<boolean> {
  const opened = await workspace.stat({ bigint: true });
  const now = await atPlace(place, (dir) => stat(dir, { bigint: true })).catch(() => undefined);
  return now !== undefined && now.ino === opened.ino && now.dev === opened.dev;
}

/**
 * The files and links that differ between two checkpoints. Directories are not compared, and permissions only as far as git
 * keeps them.
 *
 * If one side has a path, and the other may have had it without keeping it, the change is of unknown kind (`isKnown: false`):
 * it must not look like a new or a deleted file. A file that only the second side has counts as new even if the first side had
 * more paths than it names: claiming that wrongly destroys nothing.
 */
import { fromCapturedPath, SandboxError } from '@talaria/sandbox';
import { type CheckpointEntry, type CheckpointFiles, entryKey } from '../checkpoints/checkpoint-tree.ts';
import { Omissions } from '../checkpoints/omissions.ts';
import { gitMode } from './git-names.ts';

export interface FileChange {
  /** One character per byte. */
  path: string;
  before?: CheckpointEntry | undefined;
  after?: CheckpointEntry | undefined;
  isKnown: boolean;
}

export interface ComparedCheckpoints {
  from: CheckpointFiles;
  to: CheckpointFiles;
}

/** By the bytes of their paths. `within` is the path of a file, or of a directory; all if it is empty. */
export function changedFiles({ from, to }: ComparedCheckpoints, within: readonly string[]): FileChange[] {
  const isWithin = createFilter({ from, to }, within.join('/'));
  const changes: FileChange[] = [];
  const notKept = { from: new Omissions(from), to: new Omissions(to) };
  for (const [key, before] of from.tree) {
    const after = comparable(to.tree.get(key));
    if (after === before || !comparable(before) || !isWithin(before)) continue;
    if (after !== undefined && isSame(before, after)) continue;
    const path = fromCapturedPath(before);
    const isKnown = after !== undefined || (notKept.to.areKnown && notKept.to.reasonOf(path) === undefined);
    changes.push({ path, before, after, isKnown });
  }
  for (const [key, after] of to.tree) {
    if (comparable(from.tree.get(key)) || !comparable(after) || !isWithin(after)) continue;
    const path = fromCapturedPath(after);
    changes.push({ path, after, isKnown: notKept.from.reasonOf(path) === undefined });
  }
  return changes.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** A link that becomes a file, or the other way, has nothing in common with it: it goes, and the other comes. */
export function partsOf(change: FileChange): FileChange[] {
  const { path, before, after, isKnown } = change;
  if (!before || !after || before.type === after.type) return [change];
  return [
    { path, before, isKnown },
    { path, after, isKnown },
  ];
}

export function isSameContent(one: CheckpointEntry, other: CheckpointEntry): boolean {
  if (one.type !== other.type) return false;
  return one.type === 'symlink'
    ? one.target === other.target && one.target_bytes === other.target_bytes
    : one.sha256 === other.sha256;
}

function isSame(one: CheckpointEntry, other: CheckpointEntry): boolean {
  return gitMode(one) === gitMode(other) && isSameContent(one, other);
}

function comparable(entry: CheckpointEntry | undefined): CheckpointEntry | undefined {
  return entry?.type === 'directory' ? undefined : entry;
}

function createFilter({ from, to }: ComparedCheckpoints, path: string): (entry: CheckpointEntry) => boolean {
  if (path === '') return () => true;
  const bytes = fromCapturedPath({ path });
  const key = entryKey({ path });
  if (!from.tree.has(key) && !to.tree.has(key)) {
    throw new SandboxError('artifact_not_found', new Omissions(to).explain(bytes));
  }
  return (entry) => {
    const found = fromCapturedPath(entry);
    return found === bytes || found.startsWith(`${bytes}/`);
  };
}

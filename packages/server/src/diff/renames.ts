/**
 * Finds new files that are deleted ones under another path, because they have the same content. A deleted file with the same name
 * in another directory comes first. Each deleted file becomes at most one new file. Empty files are never paired.
 */
import type { FileChange } from './changed-files.ts';

export interface Renames {
  /** The deleted files by their new paths. */
  from: ReadonlyMap<string, FileChange>;
  /** The new files by their old paths. */
  to: ReadonlyMap<string, FileChange>;
}

export function findRenames(changes: readonly FileChange[]): Renames {
  const from = new Map<string, FileChange>();
  const to = new Map<string, FileChange>();
  const pair = (keyOf: (content: string, path: string) => string): void => {
    const deleted = new Map<string, FileChange[]>();
    // Backwards, because the last one of them is taken first.
    for (const change of changes.toReversed()) {
      const content = contentOf(change, 'before');
      if (content === undefined || to.has(change.path)) continue;
      const key = keyOf(content, change.path);
      const alike = deleted.get(key);
      if (alike) alike.push(change);
      else deleted.set(key, [change]);
    }
    for (const change of changes) {
      const content = contentOf(change, 'after');
      if (content === undefined || from.has(change.path)) continue;
      const old = deleted.get(keyOf(content, change.path))?.pop();
      if (old === undefined) continue;
      from.set(change.path, old);
      to.set(old.path, change);
    }
  };
  pair((content, path) => `${content}/${path.slice(path.lastIndexOf('/') + 1)}`);
  pair((content) => content);
  return { from, to };
}

/** The hash of a file that only this side has; undefined for anything else, and for an empty file. */
function contentOf({ before, after, isKnown }: FileChange, side: 'before' | 'after'): string | undefined {
  if (!isKnown || (before !== undefined && after !== undefined)) return undefined;
  const entry = side === 'before' ? before : after;
  return entry?.type === 'file' && entry.size > 0 ? entry.sha256 : undefined;
}

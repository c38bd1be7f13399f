/**
 * Which of the new files are deleted ones under another name: those with the same content, the same name in another directory
 * first. A deleted file becomes at most one new one. Empty files are too much alike to say so.
 */
import type { FileChange } from './changed-files.ts';

export interface Renames {
  /** By the new path: the old one. */
  from: ReadonlyMap<string, FileChange>;
  /** By the old path: the new one. */
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

/** Of a file that is on this side alone. */
function contentOf({ before, after, isKnown }: FileChange, side: 'before' | 'after'): string | undefined {
  if (!isKnown || (before !== undefined && after !== undefined)) return undefined;
  const entry = side === 'before' ? before : after;
  return entry?.type === 'file' && entry.size > 0 ? entry.sha256 : undefined;
}

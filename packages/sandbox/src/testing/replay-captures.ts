import type { CapturedEntry, CapturedPath, WorkspaceCapture } from '../captures.ts';

/** The entries that a caller knows after these captures, by path. */
export function replay(captures: readonly WorkspaceCapture[]): Map<string, CapturedEntry> {
  const tree = new Map<string, CapturedEntry>();
  for (const { isWhole, changed, removed } of captures) {
    if (isWhole) tree.clear();
    for (const one of removed) {
      for (const path of tree.keys())
        if (path === keyOf(one) || path.startsWith(`${keyOf(one)}/`)) tree.delete(path);
    }
    for (const entry of changed) tree.set(keyOf(entry), entry);
  }
  return tree;
}

function keyOf({ path, path_bytes: bytes }: CapturedPath): string {
  return bytes === undefined ? path : Buffer.from(bytes, 'base64').toString('latin1');
}

/**
 * The content of files in the form of a snapshot (snapshots/snapshot-format.ts), uncompressed, in buffers of a size. Files
 * that are gone, or are not files any more, are left out. It blocks, so it runs in a thread of its own.
 */
import { closeSync, fstatSync } from 'node:fs';
import { SnapshotWriter } from '../snapshots/snapshot-writer.ts';
import { toCapturedPath } from './captured-path.ts';
import { isPassing, openDirectoryBelow, openFile, openRoot } from './open-by-name.ts';

/** The paths are those of captured-path.ts. Files of one directory that follow each other share one open of it. */
export function* readFiles(dir: string, paths: readonly string[]): Generator<Uint8Array> {
  const root = openRoot(dir);
  let parent: { path: string; descriptor: number } | undefined;
  const snapshot = new SnapshotWriter();
  try {
    for (const path of paths) {
      const cut = path.lastIndexOf('/');
      const above = path.slice(0, Math.max(cut, 0));
      let found: ReturnType<typeof openFile>;
      try {
        if (parent?.path !== above) {
          if (parent) closeSync(parent.descriptor);
          parent = undefined;
          const names = above === '' ? [] : above.split('/');
          parent = { path: above, descriptor: openDirectoryBelow(root, names) };
        }
        found = openFile(parent.descriptor, path.slice(cut + 1));
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      if (found === undefined) {
        snapshot.omitted++;
        continue;
      }
      try {
        const { size, mode, mtimeMs } = fstatSync(found.file);
        const name = Buffer.from(path, 'latin1').toString('base64');
        const head = { name, type: 'file', size, mode: mode & 0o777, modified_ms: mtimeMs } as const;
        yield* snapshot.file(head, found.file, () => toCapturedPath(path).path);
      } finally {
        closeSync(found.file);
      }
    }
    yield* snapshot.end();
  } finally {
    if (parent) closeSync(parent.descriptor);
    closeSync(root);
  }
}

/**
 * The content of files in the form of a snapshot (snapshots/snapshot-format.ts), uncompressed, in buffers of a size. Files
 * that are gone, or are no files any more, are left out. It blocks, so it runs in a thread of its own.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { changed } from '../artifacts/failures.ts';
import { encodeHead } from '../snapshots/snapshot-format.ts';
import { toCapturedPath } from './captured-path.ts';
import { isPassing, openDirectoryBelow, openFile, openRoot } from './open-by-name.ts';

const BUFFER_BYTES = 256 * 1024;

/** The paths are those of captured-path.ts. Where neighbours follow each other, their directory is opened once. */
export function* readFiles(dir: string, paths: readonly string[]): Generator<Uint8Array> {
  const root = openRoot(dir);
  let parent: { path: string; descriptor: number } | undefined;
  let [count, omitted] = [0, 0];
  const filling = new Filling();
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
        omitted++;
        continue;
      }
      try {
        count++;
        const { size, mode, mtimeMs } = fstatSync(found.file);
        const name = Buffer.from(path, 'latin1').toString('base64');
        yield* filling.add(
          encodeHead({ name, type: 'file', size, mode: mode & 0o777, modified_ms: mtimeMs }),
        );
        for (let at = 0; at < size; ) {
          const space = yield* filling.space();
          const read = readSync(found.file, space, 0, Math.min(space.length, size - at), at);
          if (read === 0) throw changed(toCapturedPath(path).path);
          filling.filled(read);
          at += read;
        }
      } finally {
        closeSync(found.file);
      }
    }
    yield* filling.add(encodeHead({ type: 'end', entries: count, omitted }));
    yield* filling.rest();
  } finally {
    if (parent) closeSync(parent.descriptor);
    closeSync(root);
  }
}

/** A buffer that is given away when it is full. */
class Filling {
  #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #used = 0;

  *add(bytes: Buffer): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length; ) {
      const space = yield* this.space();
      const copied = bytes.copy(space, 0, at);
      this.filled(copied);
      at += copied;
    }
  }

  /** Where the next bytes go; never empty. */
  *space(): Generator<Uint8Array, Buffer> {
    if (this.#used === this.#buffer.length) yield* this.rest();
    return this.#buffer.subarray(this.#used);
  }

  filled(bytes: number): void {
    this.#used += bytes;
  }

  *rest(): Generator<Uint8Array> {
    if (this.#used === 0) return;
    const full = this.#buffer.subarray(0, this.#used);
    [this.#buffer, this.#used] = [Buffer.allocUnsafeSlow(BUFFER_BYTES), 0];
    yield full;
  }
}

/**
 * Writes a snapshot (snapshot-format.ts) into buffers of a fixed size, uncompressed. Like encodeSnapshot, but for work that
 * blocks: its generators yield each buffer when it is full, and do not use that buffer any more.
 */
import { readSync } from 'node:fs';
import { changed } from '../artifacts/failures.ts';
import { type EntryHead, encodeHead } from './snapshot-format.ts';

const BUFFER_BYTES = 256 * 1024;

export class SnapshotWriter {
  #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #used = 0;
  #entries = 0;
  /** How many entries could not be stored. */
  omitted = 0;

  /** The content is all of it; for a file use `file`. */
  *entry(head: Omit<EntryHead, 'size'>, content?: Buffer): Generator<Uint8Array, void> {
    yield* this.#head({ ...head, size: content?.length ?? 0 });
    if (content) yield* this.#add(content);
  }

  /** Exactly `size` bytes of an open file, or an error. `path` is for the error. */
  *file(head: EntryHead, file: number, path: () => string): Generator<Uint8Array, void> {
    yield* this.#head(head);
    for (let at = 0; at < head.size; ) {
      if (this.#used === this.#buffer.length) yield this.#take();
      const room = Math.min(this.#buffer.length - this.#used, head.size - at);
      const read = readSync(file, this.#buffer, this.#used, room, at);
      if (read === 0) throw changed(path());
      this.#used += read;
      at += read;
    }
  }

  *end(): Generator<Uint8Array, void> {
    yield* this.#add(encodeHead({ type: 'end', entries: this.#entries, omitted: this.omitted }));
    yield this.#take();
  }

  *#head(head: EntryHead): Generator<Uint8Array, void> {
    this.#entries++;
    yield* this.#add(encodeHead(head));
  }

  *#add(bytes: Buffer): Generator<Uint8Array, void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#used === this.#buffer.length) yield this.#take();
      const copied = bytes.copy(this.#buffer, this.#used, at);
      this.#used += copied;
      at += copied;
    }
  }

  #take(): Uint8Array {
    const full = this.#buffer.subarray(0, this.#used);
    [this.#buffer, this.#used] = [Buffer.allocUnsafeSlow(BUFFER_BYTES), 0];
    return full;
  }
}

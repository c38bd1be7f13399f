/**
 * What a process prints, readable from an offset while it grows, so that a reader who lost its stream continues where it
 * was. A process that is far ahead of its reader waits, and what was read long ago is forgotten.
 */
import type { Readable } from 'node:stream';

const AHEAD_BYTES = 4 * 1024 * 1024;
const KEPT_BYTES = 16 * 1024 * 1024;

export class Output {
  readonly #source: Readable;
  readonly #parts: Buffer[] = [];
  #start = 0;
  #end = 0;
  #read = 0;
  #over = false;
  #changed = Promise.withResolvers<void>();

  constructor(source: Readable) {
    this.#source = source;
    source.on('data', (part: Buffer) => {
      this.#parts.push(part);
      this.#end += part.length;
      if (this.#end - this.#read > AHEAD_BYTES) source.pause();
      this.#wake();
    });
    source.on('error', () => {});
    source.once('close', () => {
      this.#over = true;
      this.#wake();
    });
  }

  /** The next bytes from there on; undefined when there will be none. */
  async from(offset: number, signal: AbortSignal): Promise<Buffer | undefined> {
    while (offset >= this.#end) {
      if (this.#over || signal.aborted) return undefined;
      await Promise.race([this.#changed.promise, aborted(signal)]);
    }
    this.#forget(offset);
    if (offset < this.#start) throw new Error('the output was forgotten');
    let at = this.#start;
    for (const part of this.#parts) {
      if (offset < at + part.length) return this.#take(part.subarray(offset - at), offset);
      at += part.length;
    }
    return undefined;
  }

  #take(bytes: Buffer, offset: number): Buffer {
    this.#read = Math.max(this.#read, offset + bytes.length);
    if (this.#end - this.#read <= AHEAD_BYTES) this.#source.resume();
    return bytes;
  }

  #forget(offset: number): void {
    for (let first = this.#parts[0]; first && this.#start + first.length < offset - KEPT_BYTES; ) {
      this.#start += first.length;
      this.#parts.shift();
      first = this.#parts[0];
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/**
 * The output of a command in bounded memory: its first and its last bytes, and how many there were.
 *
 * Output up to the limit is kept as it is. When it exceeds the limit, all of it also goes to a spool file, up to a cap;
 * memory holds only the head and the tail, however much is printed. `write` returns a promise when the caller has to
 * wait before it reads on; so a slow disk slows the command down.
 */
import type { FileHandle } from 'node:fs/promises';
import { completeLength, continuationLength } from '../../workspace/files/utf8.ts';
import { writeAll } from '../../workspace/files/write-all.ts';

export interface Spool {
  handle: FileHandle;
  /** The file as commands see it. */
  path: string;
}

export interface OutputLimits {
  /** Bytes kept in memory and returned. */
  limitBytes: number;
  /** How many bytes of a longer output are stored on disk. */
  spoolLimitBytes: number;
}

export interface CapturedOutput {
  text: string;
  totalBytes: number;
  truncated: boolean;
  /** The file with the whole output, if it was truncated and could be stored. */
  spoolPath: string | undefined;
}

const NOTHING = Buffer.alloc(0);

export class OutputCapture {
  readonly #limits: OutputLimits;
  readonly #openSpool: () => Promise<Spool>;
  readonly #headBytes: number;
  readonly #tailBytes: number;
  /** Each is allocated when its first byte comes: most commands print little, many nothing. */
  #head = NOTHING;
  /** A ring: byte n of what follows the head is at n modulo its size. */
  #tail = NOTHING;
  #totalBytes = 0;
  #spool: Spool | undefined;
  #spooledBytes = 0;
  #spoolFailure: string | undefined;

  constructor(limits: OutputLimits, openSpool: () => Promise<Spool>) {
    this.#limits = limits;
    this.#openSpool = openSpool;
    this.#headBytes = Math.ceil(limits.limitBytes / 2);
    this.#tailBytes = limits.limitBytes - this.#headBytes;
  }

  /** The caller may reuse the chunk's memory when this is done. */
  write(chunk: Buffer): Promise<void> | undefined {
    const before = this.#totalBytes;
    const spooling = before + chunk.length > this.#limits.limitBytes ? this.#spoolOut(chunk) : undefined;
    this.#keep(chunk);
    return spooling;
  }

  async finish(): Promise<CapturedOutput> {
    await this.#spool?.handle.close();
    const kept = this.#keptBytes();
    const truncated = this.#totalBytes > this.#limits.limitBytes;
    return {
      text: truncated ? this.#truncatedText() : kept.toString('utf8'),
      totalBytes: this.#totalBytes,
      truncated,
      spoolPath: truncated && !this.#spoolFailure ? this.#spool?.path : undefined,
    };
  }

  #keep(chunk: Buffer): void {
    let rest = chunk;
    if (this.#totalBytes < this.#headBytes) {
      if (this.#head === NOTHING) this.#head = Buffer.allocUnsafe(this.#headBytes);
      const copied = rest.copy(this.#head, this.#totalBytes);
      this.#totalBytes += copied;
      rest = rest.subarray(copied);
    }
    const size = this.#tailBytes;
    if (rest.length === 0 || size === 0) {
      this.#totalBytes += rest.length;
      return;
    }
    if (this.#tail === NOTHING) this.#tail = Buffer.allocUnsafe(size);
    if (rest.length > size) {
      this.#totalBytes += rest.length - size;
      rest = rest.subarray(rest.length - size);
    }
    const at = (this.#totalBytes - this.#headBytes) % size;
    const copied = rest.copy(this.#tail, at);
    rest.copy(this.#tail, 0, copied);
    this.#totalBytes += rest.length;
  }

  /** Everything so far while it is under the limit. */
  #keptBytes(): Buffer {
    const headBytes = Math.min(this.#totalBytes, this.#head.length);
    const tailBytes = Math.min(this.#totalBytes - headBytes, this.#tail.length);
    return Buffer.concat([this.#head.subarray(0, headBytes), this.#tail.subarray(0, tailBytes)]);
  }

  #spoolOut(chunk: Buffer): Promise<void> | undefined {
    if (this.#spoolFailure || this.#spooledBytes >= this.#limits.spoolLimitBytes) return undefined;
    const first = this.#spool ? undefined : this.#keptBytes();
    return this.#append(first, chunk).catch((error: Error) => {
      this.#spoolFailure = error.message;
    });
  }

  async #append(first: Buffer | undefined, chunk: Buffer): Promise<void> {
    this.#spool ??= await this.#openSpool();
    for (const bytes of first ? [first, chunk] : [chunk]) {
      const room = bytes.subarray(0, this.#limits.spoolLimitBytes - this.#spooledBytes);
      await writeAll(this.#spool.handle, room);
      this.#spooledBytes += room.length;
    }
  }

  #truncatedText(): string {
    const size = this.#tail.length;
    const at = size === 0 ? 0 : (this.#totalBytes - this.#head.length) % size;
    const ring = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
    const head = this.#head.subarray(0, completeLength(this.#head));
    const tail = ring.subarray(continuationLength(ring));
    const leftOut = this.#totalBytes - head.length - tail.length;
    return `${head.toString('utf8')}\n[... ${leftOut} of ${this.#totalBytes} bytes left out; ${this.#whereTheRestIs()} ...]\n${tail.toString('utf8')}`;
  }

  #whereTheRestIs(): string {
    if (this.#spoolFailure) return `the whole output could not be kept: ${this.#spoolFailure}`;
    if (this.#spooledBytes < this.#totalBytes) {
      return `its first ${this.#spooledBytes} bytes are in ${this.#spool?.path}`;
    }
    return `the whole output is in ${this.#spool?.path}`;
  }
}

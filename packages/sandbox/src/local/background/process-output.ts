/**
 * The output of a background process: its last bytes in memory, for new-output queries, and all of it, up to a cap, in a
 * file of the workspace.
 *
 * `take` returns every byte at most once. Bytes that came faster than they were taken, and no longer fit into memory,
 * are counted and left to the file. Like OutputCapture, `write` returns a promise when the caller has to wait for the
 * disk.
 */

import { completeLength, continuationLength } from '../../workspace/files/utf8.ts';
import { writeAll } from '../../workspace/files/write-all.ts';
import type { OutputLimits, Spool } from '../process/output-capture.ts';

export interface NewOutput {
  text: string;
  /** Bytes before `text` that nobody has taken and that are now only in the log. */
  droppedBytes: number;
}

export class ProcessOutput {
  readonly #limits: OutputLimits;
  readonly #openLog: () => Promise<Spool>;
  /** A ring: byte n of the output is at n modulo its size. Made when there is something to keep. */
  #recent: Buffer | undefined;
  #totalBytes = 0;
  #takenBytes = 0;
  #log: Spool | undefined;
  #loggedBytes = 0;
  #logFailure: string | undefined;
  #ended = false;
  #listeners = new Set<() => void>();

  constructor(limits: OutputLimits, openLog: () => Promise<Spool>) {
    this.#limits = limits;
    this.#openLog = openLog;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** Creates the log, so that its path is known before there is any output. */
  async open(): Promise<void> {
    this.#log = await this.#openLog().catch((error: Error) => {
      this.#logFailure = error.message;
      return undefined;
    });
  }

  /** The path of the whole output, as commands see it; undefined if it could not be stored. */
  get logPath(): string | undefined {
    return this.#logFailure === undefined ? this.#log?.path : undefined;
  }

  /** Explains what the log is missing, if it is not complete. */
  get logGap(): string | undefined {
    if (this.#logFailure !== undefined) return `the output could not be kept: ${this.#logFailure}`;
    if (this.#loggedBytes >= this.#totalBytes) return undefined;
    return `the log holds only the first ${this.#loggedBytes} of ${this.#totalBytes} bytes`;
  }

  write(chunk: Buffer): Promise<void> | undefined {
    this.#keep(chunk);
    for (const listener of this.#listeners) listener();
    if (!this.#log || this.#logFailure !== undefined) return undefined;
    const room = chunk.subarray(0, this.#limits.spoolLimitBytes - this.#loggedBytes);
    if (room.length === 0) return undefined;
    this.#loggedBytes += room.length;
    return writeAll(this.#log.handle, room).catch((error: Error) => {
      this.#logFailure = error.message;
    });
  }

  /** The output since the last call. An incomplete character waits for its rest. */
  take(): NewOutput {
    const size = this.#recent?.length ?? 0;
    const newBytes = this.#totalBytes - this.#takenBytes;
    const dropped = Math.max(0, newBytes - size);
    let bytes = this.#last(newBytes - dropped);
    if (dropped > 0) bytes = bytes.subarray(continuationLength(bytes));
    const droppedBytes = newBytes - bytes.length;
    if (!this.#ended) bytes = bytes.subarray(0, completeLength(bytes));
    this.#takenBytes += droppedBytes + bytes.length;
    if (this.#ended) this.#recent = undefined;
    return { text: bytes.toString('utf8'), droppedBytes };
  }

  /** Calls back at every piece of output until it is unsubscribed. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#log?.handle.close();
  }

  #keep(chunk: Buffer): void {
    const size = this.#limits.limitBytes;
    this.#recent ??= Buffer.allocUnsafe(size);
    const rest = chunk.subarray(Math.max(0, chunk.length - size));
    this.#totalBytes += chunk.length - rest.length;
    const copied = rest.copy(this.#recent, this.#totalBytes % size);
    rest.copy(this.#recent, 0, copied);
    this.#totalBytes += rest.length;
  }

  #last(count: number): Buffer {
    if (!this.#recent || count === 0) return Buffer.alloc(0);
    const size = this.#recent.length;
    const from = (this.#totalBytes - count) % size;
    const first = this.#recent.subarray(from, Math.min(size, from + count));
    return Buffer.concat([first, this.#recent.subarray(0, count - first.length)]);
  }
}

/**
 * Splits the output of the search script into records as it arrives, with one record in memory. A record that the
 * script's limit cut off is dropped.
 */
const NUL = 0;
const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);

export interface RecordHandler {
  /** `rest` is empty if records are only paths. Both are valid only during the call. */
  onRecord(path: Buffer, rest: Buffer): void;
}

export class RecordReader {
  readonly #handler: RecordHandler;
  readonly #withRest: boolean;
  readonly #maxBytes: number;
  #carry: Buffer = EMPTY;
  #readBytes = 0;
  #trailer: string | undefined;

  constructor(handler: RecordHandler, options: { withRest: boolean; maxBytes: number }) {
    this.#handler = handler;
    this.#withRest = options.withRest;
    this.#maxBytes = options.maxBytes;
  }

  /** Whether the script reached its limit. */
  get cutOff(): boolean {
    return this.#readBytes >= this.#maxBytes;
  }

  /** The text after the records. */
  get trailer(): string {
    return this.#trailer ?? '';
  }

  write(chunk: Buffer): undefined {
    if (this.#trailer !== undefined) {
      this.#trailer += chunk.toString('utf8');
      return;
    }
    const body = chunk.subarray(0, this.#maxBytes - this.#readBytes);
    this.#readBytes += body.length;
    this.#readRecords(this.#carry.length === 0 ? body : Buffer.concat([this.#carry, body]));
    if (body.length < chunk.length) {
      // The first byte is the NUL of the empty path.
      this.#trailer = (this.#trailer ?? '') + chunk.subarray(body.length).toString('utf8').replace('\0', '');
    }
  }

  #readRecords(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (bytes[at] === NUL) {
        this.#trailer = bytes.subarray(at + 1).toString('utf8');
        at = bytes.length;
        break;
      }
      const pathEnd = bytes.indexOf(NUL, at);
      if (pathEnd === -1) break;
      const end = this.#withRest ? bytes.indexOf(NEWLINE, pathEnd) : pathEnd;
      if (end === -1) break;
      this.#handler.onRecord(bytes.subarray(at, pathEnd), bytes.subarray(pathEnd + 1, end));
      at = end + 1;
    }
    // The chunk's memory is reused after this returns.
    this.#carry = at < bytes.length ? Buffer.from(bytes.subarray(at)) : EMPTY;
  }
}

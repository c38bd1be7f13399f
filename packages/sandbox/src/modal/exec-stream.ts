/**
 * The input and output of a command in a sandbox as one stream. Each write is a call that the service answers, so what
 * was written meanwhile is sent together with the next. Destroying the stream ends the command's input, because nothing else can
 * end a command.
 */
import { Duplex } from 'node:stream';
import type { ModalProcess } from './modal-sdk.ts';

/** The most bytes per call. The service takes more, but a call that may have to be repeated should be small. */
const MOST_BYTES = 1024 * 1024;

export class ExecStream extends Duplex {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;

  constructor({ stdin, stdout }: ModalProcess) {
    super();
    this.#reader = stdout.getReader();
    this.#writer = stdin.getWriter();
    // A write that fails says so, too.
    this.#writer.closed.catch(() => {});
  }

  override _read(): void {
    this.#reader.read().then(
      ({ done, value }) => this.push(done ? null : value),
      (error: Error) => this.destroy(error),
    );
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    this.#send([chunk]).then(() => done(), done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error) => void): void {
    this.#send(chunks.map(({ chunk }) => chunk)).then(() => done(), done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#writer.close().then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#reader.cancel().catch(() => {});
    if (!this.writableFinished) this.#writer.close().catch(() => {});
    done(error);
  }

  async #send(chunks: readonly Buffer[]): Promise<void> {
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    for (let at = 0; at < bytes.length; at += MOST_BYTES)
      await this.#writer.write(bytes.subarray(at, at + MOST_BYTES));
  }
}

/**
 * A program that a platform runs in a container, as one stream of its input and output. The platform speaks over a WebSocket;
 * an `ExecCodec` knows how.
 */
import { Duplex } from 'node:stream';

const MAX_SAID_BYTES = 2_000;
/** How much input one message carries. */
const CHUNK_BYTES = 64 * 1024;

/** The messages of one platform. */
export interface ExecCodec {
  /** A message that carries input. */
  input(bytes: Buffer): Buffer;
  /** The message that ends the input. Undefined if the platform has none: then only closing the WebSocket ends the input. */
  readonly endOfInput: Buffer | undefined;
  /** Throws if it is not a message of the platform. */
  read(message: Buffer): ExecOutput;
}

export interface ExecOutput {
  stdout?: Buffer;
  stderr?: Buffer;
  /** How the program ended: undefined if it has not, `true` if it succeeded, otherwise in words: `ended with 3`. */
  ended?: true | string;
}

/** `messages` is a WebSocket (web-socket/web-socket.ts). */
export class ExecStream extends Duplex {
  readonly #messages: Duplex;
  readonly #codec: ExecCodec;
  #said = '';

  constructor(messages: Duplex, codec: ExecCodec) {
    super();
    this.#messages = messages;
    this.#codec = codec;
    messages.on('data', (message: Buffer) => this.#receive(message));
    messages.on('error', (error) => this.destroy(error));
    // The WebSocket may have failed before this stream listened. This stream, too, may fail before somebody listens to it.
    this.on('error', () => {});
    if (messages.errored) this.destroy(messages.errored);
    for (const event of ['end', 'close']) messages.once(event, () => this.destroy());
  }

  override _read(): void {
    this.#messages.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    let start = 0;
    for (; start + CHUNK_BYTES < chunk.length; start += CHUNK_BYTES) {
      this.#messages.write(this.#codec.input(chunk.subarray(start, start + CHUNK_BYTES)));
    }
    this.#messages.write(this.#codec.input(chunk.subarray(start)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    const { endOfInput } = this.#codec;
    if (endOfInput) this.#messages.write(endOfInput, done);
    else done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#messages.destroy();
    done(error);
  }

  #receive(message: Buffer): void {
    let output: ExecOutput;
    try {
      output = this.#codec.read(message);
    } catch (error) {
      this.destroy(error as Error);
      return;
    }
    const { stdout, stderr, ended } = output;
    if (stderr) this.#said = (this.#said + stderr.toString('utf8')).slice(-MAX_SAID_BYTES);
    if (stdout && stdout.length > 0 && !this.push(stdout)) this.#messages.pause();
    if (ended === true) this.push(null);
    else if (ended !== undefined)
      this.destroy(new Error(`the relay ${ended}: ${this.#said.trim() || 'it said nothing'}`));
  }
}

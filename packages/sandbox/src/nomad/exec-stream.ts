/**
 * A program that `alloc exec` runs in an allocation, as a stream of its input and output. Nomad speaks JSON over a
 * WebSocket: `{"stdin":{"data":"…"}}` one way, `{"stdout":{"data":"…"}}` and at last `{"exited":true,…}` the other.
 */
import { Duplex } from 'node:stream';

const MAX_SAID_BYTES = 2_000;
/** How much input one message carries. */
const CHUNK_BYTES = 64 * 1024;

interface Output {
  stdout?: { data?: string };
  stderr?: { data?: string };
  exited?: boolean;
  result?: { exit_code?: number };
}

/** `messages` is a WebSocket (web-socket/web-socket.ts). */
export class ExecStream extends Duplex {
  readonly #messages: Duplex;
  #said = '';

  constructor(messages: Duplex) {
    super();
    this.#messages = messages;
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
      this.#messages.write(stdin(chunk.subarray(start, start + CHUNK_BYTES)));
    }
    this.#messages.write(stdin(chunk.subarray(start)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#messages.write(Buffer.from(JSON.stringify({ stdin: { close: true } })), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#messages.destroy();
    done(error);
  }

  #receive(message: Buffer): void {
    let output: Output;
    try {
      output = JSON.parse(message.toString('utf8'));
    } catch {
      this.destroy(new Error('Nomad sent a message over an exec that is not JSON'));
      return;
    }
    const { stdout, stderr, exited, result } = output;
    if (stderr?.data) this.#said = (this.#said + decode(stderr.data)).slice(-MAX_SAID_BYTES);
    if (stdout?.data && !this.push(Buffer.from(stdout.data, 'base64'))) this.#messages.pause();
    if (!exited) return;
    const code = result?.exit_code ?? 0;
    if (code === 0) this.push(null);
    else this.destroy(new Error(`the relay ended with ${code}: ${this.#said.trim() || 'it said nothing'}`));
  }
}

function stdin(bytes: Buffer): Buffer {
  return Buffer.from(JSON.stringify({ stdin: { data: bytes.toString('base64') } }));
}

function decode(data: string): string {
  return Buffer.from(data, 'base64').toString('utf8');
}

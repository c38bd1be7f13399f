/**
 * The standard input of a background process: a real pipe, as for outputs (process/pipe-stock.ts).
 *
 * Unread input waits in the pipe and, beyond that, here, so a write never blocks the server. The writer learns whether all
 * of it was read.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { PipeStock } from '../process/pipe-stock.ts';
import type { InputEnd } from '../process/program.ts';

export class ProcessInput {
  /** For the process; closed here after the process got it, and its name is removed. */
  readonly readEnd: InputEnd;
  readonly #pipes: PipeStock;
  readonly #writer: Socket;
  #handedOver = false;
  #closed = false;

  static async open(pipes: PipeStock): Promise<ProcessInput> {
    const { read, write, name } = await pipes.takeNamed();
    try {
      // Opened again in blocking mode, which programs expect of their input. Its writer exists, so this does not wait.
      const fd = openSync(`/proc/self/fd/${read}`, constants.O_RDONLY);
      return new ProcessInput(pipes, { fd, name }, write);
    } finally {
      closeSync(read);
    }
  }

  private constructor(pipes: PipeStock, readEnd: InputEnd, writeEnd: number) {
    this.#pipes = pipes;
    this.readEnd = readEnd;
    this.#writer = new Socket({ fd: writeEnd, readable: false, writable: true });
    // The process does not read any more.
    this.#writer.on('error', () => {});
    this.#writer.on('close', () => {
      this.#closed = true;
    });
  }

  /** True when it was closed, or nobody can read it any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Bytes that were written and wait for room in the pipe. */
  get waitingBytes(): number {
    return this.#writer.writableLength;
  }

  /** Resolves when the pipe has accepted it, or when it never will. */
  write(data: Buffer): Promise<void> {
    return new Promise((resolve) => this.#writer.write(data, () => resolve()));
  }

  /** The process reads the end of its input after the written data. */
  end(): void {
    this.#closed = true;
    this.#writer.end();
  }

  /** The process has the read end now; while the server held it too, nobody would notice that the process is gone. */
  handOver(): void {
    if (this.#handedOver) return;
    this.#handedOver = true;
    closeSync(this.readEnd.fd);
    this.#pipes.removeName(this.readEnd.name);
  }

  destroy(): void {
    this.handOver();
    this.#writer.destroy();
  }
}

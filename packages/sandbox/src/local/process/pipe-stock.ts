/**
 * Real pipes for the inputs and outputs of commands.
 *
 * Node gives a child a socket for 'pipe'. A command notices: opening /dev/stdout or /dev/stderr fails on a socket, and
 * many scripts do that. Node cannot create a pipe, but a FIFO is one. Creating one takes a process, mkfifo or a child of a
 * keeper, so they are created a few at a time, before the last is used, and kept open until they are needed.
 *
 * They have names in a private directory, in memory if the machine has such a place. By its name a keeper opens a pipe
 * (keeper/); the caller that took the pipe removes the name.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SYSTEM_PATH } from '../../host/system-path.ts';
import { inMemoryOr, momentaryName } from './memory-dir.ts';

const run = promisify(execFile);

/** Each costs two descriptors while it waits; thirty-two make the cost of mkfifo vanish next to that of a spawn. */
const BATCH = 32;
/** With fewer left, more are created: a command should find one and not wait for mkfifo. */
const LOW = BATCH / 2;

/** Plain descriptors: the caller that takes a pipe owns both and closes both. */
export interface Pipe {
  /** Non-blocking, for reading through an event loop. */
  read: number;
  /** Blocking, as programs expect of their output. */
  write: number;
}

export interface NamedPipe extends Pipe {
  /** In the directory of the stock. */
  name: string;
}

/** Creates FIFOs with these names in the directory of the stock, which every user may open. */
export type PipeMaker = (names: readonly string[]) => Promise<void>;

export class PipeStock {
  /** Tried before mkfifo. */
  maker: PipeMaker | undefined;
  #dir: string | undefined;
  #pipes: NamedPipe[] = [];
  #made = 0;
  #refill: Promise<void> | undefined;
  #closed = false;

  /** Private, and as long-lived as the stock. The names of its other files must not be numbers. */
  get dir(): string {
    this.#dir ??= inMemoryOr(tmpdir(), makeDirectory);
    return this.#dir;
  }

  /** A pipe that has no name any more. */
  async take(): Promise<Pipe> {
    const pipe = await this.takeNamed();
    this.removeName(pipe.name);
    return pipe;
  }

  async takeNamed(): Promise<NamedPipe> {
    for (;;) {
      if (this.#closed) throw new Error('the stock of pipes is closed');
      const pipe = this.#pipes.pop();
      if (this.#pipes.length < LOW) this.#startRefill();
      if (pipe) return pipe;
      await this.#refill;
    }
  }

  /** The name of a pipe that was taken, or of another file of the directory. */
  removeName(name: string): void {
    try {
      unlinkSync(join(this.dir, name));
    } catch {
      // The directory was removed with the stock.
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#refill?.catch(() => {});
    for (const pipe of this.#pipes.splice(0)) {
      closeSync(pipe.read);
      closeSync(pipe.write);
    }
    if (this.#dir !== undefined) rmSync(this.#dir, { recursive: true, force: true });
  }

  #startRefill(): void {
    if (this.#refill) return;
    this.#refill = this.#make().finally(() => {
      this.#refill = undefined;
    });
    // A caller that finds none left waits for it and gets the failure; nobody else has to.
    this.#refill.catch(() => {});
  }

  async #make(): Promise<void> {
    const names = Array.from({ length: BATCH }, () => String(this.#made++));
    await (this.maker ? this.maker(names).catch(() => this.#mkfifo(names)) : this.#mkfifo(names));
    for (const name of names) this.#pipes.push({ ...openPipe(join(this.dir, name)), name });
  }

  /** A command that opens its own output by name need not be the server's user, and nobody else finds it in this directory. */
  async #mkfifo(names: readonly string[]): Promise<void> {
    const paths = names.map((name) => join(this.dir, name));
    // The other maker may have made some of them before it failed.
    for (const path of paths) rmSync(path, { force: true });
    await run('mkfifo', ['-m', '666', '--', ...paths], { env: { PATH: SYSTEM_PATH } });
  }
}

function makeDirectory(parent: string): string {
  const dir = join(parent, momentaryName('pipes'));
  mkdirSync(dir, { mode: 0o700 });
  return dir;
}

/** Neither open can block: the read end does not wait, and the write end finds its reader. */
function openPipe(path: string): Pipe {
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { read, write: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(read);
    throw error;
  }
}

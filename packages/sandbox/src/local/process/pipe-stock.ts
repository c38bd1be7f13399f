/**
 * Real pipes for the output of commands.
 *
 * Node gives a child a socket for 'pipe'. A command notices: opening /dev/stdout or /dev/stderr fails on a socket, and
 * many scripts do that. Node cannot create a pipe, but an unlinked FIFO is one. Creating one takes a process, so they
 * are created a few at a time, before the last is used, and kept open until they are needed.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs';
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

/** Plain descriptors: whoever takes a pipe owns both and closes both. */
export interface Pipe {
  /** Non-blocking, for reading through an event loop. */
  read: number;
  /** Blocking, as programs expect of their output. */
  write: number;
}

export class PipeStock {
  #pipes: Pipe[] = [];
  #refill: Promise<void> | undefined;
  #closed = false;

  async take(): Promise<Pipe> {
    for (;;) {
      if (this.#closed) throw new Error('the stock of pipes is closed');
      const pipe = this.#pipes.pop();
      if (this.#pipes.length < LOW) this.#startRefill();
      if (pipe) return pipe;
      await this.#refill;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#refill?.catch(() => {});
    for (const pipe of this.#pipes.splice(0)) {
      closeSync(pipe.read);
      closeSync(pipe.write);
    }
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
    const dir = inMemoryOr(tmpdir(), makeDirectory);
    try {
      const paths = Array.from({ length: BATCH }, (_, index) => join(dir, String(index)));
      // A command that opens its own output by name need not be the server's user, and nobody else finds it in this
      // directory.
      await run('mkfifo', ['-m', '666', '--', ...paths], { env: { PATH: SYSTEM_PATH } });
      for (const path of paths) this.#pipes.push(openPipe(path));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
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

/** A table in the exchange directory, where processes find it until it is removed. */
import { writeFileSync } from 'node:fs';
import { constants as os } from 'node:os';
import { join } from 'node:path';
import type { Architecture } from '../isolation/entry/call-numbers.ts';
import { callTable, type Step } from '../isolation/entry/call-table.ts';
import type { PipeStock } from '../process/pipe-stock.ts';
import { TABLE_ADDRESS, TABLE_BYTES_MAX } from './layout.ts';

/** If a number has two names, the usual one comes first in Node's list, so it is inserted last. */
const ERRORS = new Map(
  Object.entries(os.errno)
    .reverse()
    .map(([name, number]) => [number, name]),
);

let made = 0;

export class TableFile {
  readonly name: string;
  readonly bytes: number;
  readonly #callAt: (address: number) => string | undefined;
  readonly #pipes: PipeStock;

  constructor(steps: readonly Step[], architecture: Architecture, pipes: PipeStock) {
    made += 1;
    const { bytes, callAt } = callTable(steps, TABLE_ADDRESS, architecture);
    if (bytes.length > TABLE_BYTES_MAX) throw new Error('the environment of commands is too large');
    this.name = `table-${made}`;
    this.bytes = bytes.length;
    this.#callAt = callAt;
    this.#pipes = pipes;
    writeFileSync(join(pipes.dir, this.name), bytes, { mode: 0o600 });
  }

  /** Why a process could not run it; `step` is the address of the step that failed, undefined if there was no process. */
  describeRefusal(errno: number, step: number | undefined): string {
    if (errno === 0) return 'sandbox: the shell ended before it had read the command';
    const call = step === undefined ? 'clone' : (this.#callAt(step) ?? 'to load the table');
    return `sandbox: ${call} was refused: ${ERRORS.get(errno) ?? errno}`;
  }

  remove(): void {
    this.#pipes.removeName(this.name);
  }
}

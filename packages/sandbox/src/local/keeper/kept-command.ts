/**
 * One command that a keeper runs.
 *
 *   asked ─begun→ running ─ended→ ended
 *   asked ─refused, ended→ ended, not started
 *   asked or running ─the keeper is gone→ lost
 */
import { closeSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { childrenOf, kill, namespacePids } from '../../host/process-table.ts';
import type { CommandIo, Program, ProgramExit } from '../process/program.ts';
import { signalBelow } from '../process/terminate.ts';
import { COMMAND_FLAGS } from './command-table.ts';
import type { KeptProcess } from './keeper-link.ts';
import type { TableFile } from './table-file.ts';

const RETRY_MS = 5;
/** As in process/terminate.ts. */
const PATIENCE_MS = 3_000;

export interface KeeperOfCommand {
  /** As this process sees it. */
  pid: number;
  /** Once it is gone: true when nothing is left of what it ran. */
  settle(): Promise<boolean>;
}

export class KeptCommand implements KeptProcess, Program {
  readonly request: KeptProcess['request'];
  readonly exited: Promise<ProgramExit>;
  readonly #io: CommandIo;
  readonly #table: TableFile;
  readonly #script: string;
  readonly #keeper: KeeperOfCommand;
  #settle: (exit: ProgramExit) => void = () => {};
  #isDone = false;
  #isLost = false;
  #hasHanded = false;
  /** As the keeper sees it. */
  #innerPid: number | undefined;
  #pid: number | undefined;
  #refusal: string | undefined;

  constructor(id: number, table: TableFile, io: CommandIo, keeper: KeeperOfCommand) {
    this.#script = `script-${id}`;
    this.request = {
      flags: COMMAND_FLAGS,
      tableBytes: table.bytes,
      table: table.name,
      script: this.#script,
      output: io.output.name,
      input: io.input?.name,
      errors: io.errors?.name,
    };
    this.#table = table;
    this.#io = io;
    this.#keeper = keeper;
    this.exited = new Promise((resolve) => {
      this.#settle = resolve;
    });
    try {
      writeFileSync(join(io.pipes.dir, this.#script), io.script, { mode: 0o600 });
    } catch (error) {
      this.#handOver();
      throw error;
    }
  }

  /** Looked up when it is needed: few commands run for so long. */
  get pid(): number | undefined {
    if (this.#innerPid === undefined || this.#isDone) return undefined;
    this.#pid ??= childrenOf(this.#keeper.pid).find((pid) => namespacePids(pid)[1] === this.#innerPid);
    return this.#pid;
  }

  onStarted(pid: number): void {
    this.#innerPid = pid;
  }

  onBegun(): void {
    this.#handOver();
    this.#io.onBegun(this);
  }

  onRefused(errno: number, step?: number): void {
    this.#refusal ??= this.#table.describeRefusal(errno, step);
    if (this.#innerPid === undefined && step === undefined) this.#finish({ code: null });
  }

  onEnded(status: number, writtenBytes: number): void {
    const signal = status & 0x7f;
    this.#finish({ code: signal === 0 ? status >> 8 : 128 + signal, writtenBytes });
  }

  onLost(): void {
    this.#finish({ code: null, isLost: true });
  }

  async end(): Promise<boolean> {
    // A keeper that hangs may get to the request when nobody waits for it any more: then it finds no script.
    this.#handOver();
    const deadline = Date.now() + PATIENCE_MS;
    while (!this.#isDone && Date.now() < deadline) {
      const { pid } = this;
      if (pid !== undefined) kill(pid);
      await Promise.race([this.exited, delay(RETRY_MS)]);
    }
    return this.#isLost ? this.#keeper.settle() : this.#isDone;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) signalBelow([this.pid], signal);
  }

  #finish({
    code,
    writtenBytes = 0,
    isLost = false,
  }: Partial<ProgramExit> & Pick<ProgramExit, 'code'>): void {
    this.#isDone = true;
    this.#isLost = isLost;
    this.#handOver();
    const started = this.#refusal === undefined;
    this.#settle({ code, writtenBytes, isLost, started, message: () => this.#refusal ?? '' });
  }

  /** The command has its descriptors, or will never need them. */
  #handOver(): void {
    if (this.#hasHanded) return;
    this.#hasHanded = true;
    const { output, errors, pipes } = this.#io;
    for (const pipe of errors ? [output, errors] : [output]) {
      // While the server held it too, the output would never end.
      closeSync(pipe.write);
      pipes.removeName(pipe.name);
    }
    pipes.removeName(this.#script);
  }
}

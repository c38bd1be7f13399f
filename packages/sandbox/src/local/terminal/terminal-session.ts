/**
 * A shell in a terminal of a slot: it lives across calls, until it exits, a call times out or its slot is released.
 *
 *   starting ─first prompt→ waiting ─a call, or keys with a line end→ busy ─prompt→ waiting
 *   any ─the shell exits, a limit, or `end`→ ended
 *
 * It is one command of the slot, with the isolation and the limits of any other; everything in it ends with it. It prints
 * into bounded memory: what no call has taken yet, and a recording for screens.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fchmodSync, openSync, writeSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { ProcessInput } from '../background/process-input.ts';
import { ProcessOutput } from '../background/process-output.ts';
import { entryArchitecture } from '../isolation/entry/entry-program.ts';
import { quote, renderScript } from '../isolation/shell.ts';
import { type LimitedEnd, runLimited } from '../limits/run-limited.ts';
import { waitWithin } from '../patience.ts';
import type { OutputSink } from '../process/run-command.ts';
import type { ToolContext } from '../tools/tool.ts';
import { plainText } from './plain-text.ts';
import { Recording } from './recording.ts';
import { type Mark, MarkReader, promptFor, renderCall, renderPrompt } from './shell-marks.ts';
import { terminalProgram, windowSize } from './terminal-program.ts';

/** A shell shows its first prompt in a fraction of a second; a busy machine takes longer. */
const START_MS = 20_000;
/** Clears a line in which nothing was typed by keys. */
const CLEAR_LINE = '\x15';
/** Gives up the line that keys have begun, in whatever state they left its editor. */
const INTERRUPT = '\x03';
/** The editor took an interrupt as a letter if the key before it was one that quotes. */
const INTERRUPT_MS = 1_000;
/** Keys that nothing reads wait in the memory of the server. */
const MAX_WAITING_BYTES = 64 * 1024;

export interface TerminalSize {
  columns: number;
  rows: number;
}

/** What no call could start: the message is for the caller. */
export class TerminalError extends Error {}

export interface CallEnd {
  cause: 'done' | 'exited' | 'timeout' | 'aborted';
  exitCode: number | undefined;
}

export interface TakenOutput {
  text: string;
  droppedBytes: number;
}

export class TerminalSession {
  readonly size: TerminalSize;
  readonly isCutOff: boolean;
  readonly recording: Recording;
  /** Resolves when nothing of it is left; never rejects. */
  readonly ended: Promise<void>;
  readonly #context: ToolContext;
  readonly #key = randomBytes(8).toString('hex');
  readonly #output: ProcessOutput;
  readonly #input: ProcessInput;
  readonly #abort = new AbortController();
  readonly #names: string[] = [];
  #end: LimitedEnd | Error | undefined;
  #isAtPrompt = false;
  /** Keys were typed since the prompt, and the shell waits for more of them. */
  #hasBegunLine = false;
  /** What is printed now belongs to a prompt, or is the echo of a call. */
  #isHidden: 'prompt' | 'echo' | undefined = 'prompt';
  #prompts = 0;
  #calls = 0;
  #promptPath = '';
  #command = '';
  #lastCode = 0;
  #lastCall = '';
  #waiting = new Set<() => void>();

  /** Resolves at its first prompt. Rejects with a `TerminalError` if there can be no terminal. */
  static async start(context: ToolContext, size: TerminalSize): Promise<TerminalSession> {
    const architecture = entryArchitecture();
    if (architecture === undefined) throw new TerminalError(`there is no program for ${process.arch}`);
    // Other commands of the slot reach what it serves, where that is possible.
    if (!context.isCutOff) await context.network.share();
    const program = terminalProgram(architecture);
    const session = new TerminalSession(context, size, program, await ProcessInput.open(context.pipes));
    await session.#wait(() => session.#prompts > 0, START_MS, context.signal);
    const said = session.take().text.trim();
    if (session.#prompts > 0 && session.#end === undefined) return session;
    await session.end();
    throw new TerminalError(said || session.#whyEnded() || 'the shell showed no prompt');
  }

  private constructor(context: ToolContext, size: TerminalSize, program: Buffer, input: ProcessInput) {
    this.size = size;
    this.isCutOff = context.isCutOff;
    this.recording = new Recording(size);
    this.#context = context;
    this.#input = input;
    // Without a log: what was not taken is in the recording.
    this.#output = new ProcessOutput(context.limits, () => Promise.reject(new Error('it has no log')));
    const marks = new MarkReader(this.#key, {
      mark: (mark) => this.#onMark(mark),
      text: (text) => this.#onText(text),
    });
    const capture: OutputSink = {
      write(chunk) {
        marks.write(chunk);
        return undefined;
      },
    };
    this.ended = this.#run(program, capture)
      .catch((error: Error) => error)
      .then((end) => this.#settle(end));
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** The limit that ended it, as a sentence. */
  get limitHit(): LimitedEnd['limit'] {
    return this.#end instanceof Error ? undefined : this.#end?.limit;
  }

  /** Runs a command as if it were typed. Calls come one after the other. */
  async run(command: string, timeoutMs: number, signal: AbortSignal): Promise<CallEnd> {
    const deadline = performance.now() + timeoutMs;
    const left = () => Math.max(0, deadline - performance.now());
    const ready = await this.#wait(() => this.#isAtPrompt || this.#hasBegunLine, left(), signal);
    if (ready !== 'done') return this.#endOf(ready);
    while (this.#hasBegunLine) {
      const prompts = this.#prompts;
      this.#type(INTERRUPT);
      const patienceMs = Math.min(INTERRUPT_MS, left());
      const over = await this.#wait(() => this.#prompts > prompts, patienceMs, signal);
      if (over === 'aborted' || this.#end !== undefined || left() === 0) return this.#endOf(over);
    }
    const call = String(++this.#calls);
    const name = `call-${call}`;
    const bytes = Buffer.from(renderCall(this.#key, call, command));
    await this.#context.slotLimits.admit(bytes.length);
    const path = this.#writeFile(name, bytes, 0o644);
    this.#isAtPrompt = false;
    this.#lastCall = '';
    this.#isHidden = 'echo';
    this.#command = command;
    // What `set -x` would show of the second is not of the command.
    this.#type(`${CLEAR_LINE} . ${quote(path)}; { . ${quote(this.#promptPath)}; } 2>/dev/null\r`);
    const over = await this.#wait(() => this.#lastCall === call && this.#isAtPrompt, left(), signal);
    await this.#removeFile(name);
    return over === 'done' && this.#end === undefined
      ? { cause: 'done', exitCode: this.#lastCode }
      : this.#endOf(over);
  }

  /** Sends keys. With `block` it waits until the shell prompts again. */
  async send(keys: string, block: boolean, timeoutMs: number, signal: AbortSignal): Promise<CallEnd> {
    const prompts = this.#prompts;
    if (this.#input.waitingBytes > MAX_WAITING_BYTES)
      throw new TerminalError('it has not read what was typed before; nothing was typed');
    // What a line editor acts on. Interrupts are marked by the prompt that follows.
    if (/[\r\n\x03\x04]/.test(keys)) this.#isAtPrompt = this.#hasBegunLine = false;
    else if (this.#isAtPrompt && keys !== '') this.#hasBegunLine = true;
    this.#type(keys);
    if (!block) return { cause: this.isOver ? 'exited' : 'done', exitCode: undefined };
    const over = await this.#wait(() => this.#prompts > prompts, timeoutMs, signal);
    return over === 'done' ? { cause: 'done', exitCode: this.#lastCode } : this.#endOf(over);
  }

  /** What was printed since the last time, as text. */
  take(): TakenOutput {
    const { text, droppedBytes } = this.#output.take();
    return { text: plainText(text), droppedBytes };
  }

  /** Resolves when nothing of it is left. */
  async end(): Promise<void> {
    this.#abort.abort();
    await this.ended;
  }

  async #run(program: Buffer, capture: OutputSink): Promise<LimitedEnd> {
    const { isolation, workspace } = this.#context;
    const shell = isolation.shell === 'bash' ? ['bash', '--norc', '--noprofile', '-i'] : ['sh', '-i'];
    const path = this.#writeFile('program', program, 0o755);
    this.#promptPath = this.#writeFile('prompt', Buffer.from(renderPrompt(this.#key)), 0o644);
    const command = `exec ${quote(path)} "$(command -v ${shell[0]})" ${shell.slice(1).join(' ')}`;
    const script = renderScript({
      command,
      workdir: isolation.workspaceDir(workspace),
      // Without a history file, which would be in the workspace, and without the lines that calls type.
      env: { TERM: 'xterm-256color', HISTFILE: '', HISTCONTROL: 'ignorespace', ...promptFor(this.#key) },
    });
    void this.#input.write(windowSize(this.size));
    const { signal } = this.#abort;
    const context = { ...this.#context, executionId: `terminal_${this.#key}`, signal };
    const onStart = () => this.#input.handOver();
    return runLimited(context, { script, capture, stdin: this.#input.readEnd, onStart });
  }

  async #settle(end: LimitedEnd | Error): Promise<void> {
    this.#end = end;
    this.#input.destroy();
    this.#isHidden = undefined;
    await this.#output.end();
    for (const name of [...this.#names]) await this.#removeFile(name);
    for (const wake of this.#waiting) wake();
  }

  #onMark(mark: Mark): void {
    switch (mark.kind) {
      case 'begun':
        if (this.#isHidden === 'echo') {
          // On the screen the call looks as if it had been typed.
          this.recording.write(Buffer.from(`${this.#command.replaceAll('\n', '\r\n')}\r\n`));
          this.#isHidden = undefined;
        }
        return;
      case 'ended':
        // A prompt from before a call that is being typed.
        if (this.#isHidden === 'echo' && mark.call !== String(this.#calls)) return;
        // Where the call ended a shell that was in front, the one behind it knows an older number; a word is no prompt's.
        if (Number.isInteger(Number(mark.call))) this.#lastCall = String(this.#calls);
        this.#lastCode = mark.code;
        this.#isHidden = 'prompt';
        return;
      case 'more':
        this.#hasBegunLine = true;
        for (const wake of this.#waiting) wake();
        return;
      case 'prompt':
        if (this.#isHidden === 'echo') return;
        this.#isHidden = undefined;
        this.#isAtPrompt = true;
        this.#hasBegunLine = false;
        this.#prompts++;
        for (const wake of this.#waiting) wake();
    }
  }

  #onText(text: Buffer): void {
    if (this.#isHidden === 'echo') return;
    this.recording.write(text);
    if (this.#isHidden === undefined || this.#prompts === 0) void this.#output.write(text);
  }

  #type(keys: string): void {
    void this.#input.write(Buffer.from(keys));
  }

  async #wait(condition: () => boolean, timeoutMs: number, signal: AbortSignal) {
    const { promise, stop } = this.#until(condition);
    try {
      return await waitWithin(promise, { timeoutMs, signal });
    } finally {
      stop();
    }
  }

  /** Also resolves when the session has ended. */
  #until(condition: () => boolean): { promise: Promise<void>; stop(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = () => {
      if (!condition() && this.#end === undefined) return;
      this.#waiting.delete(check);
      resolve();
    };
    this.#waiting.add(check);
    check();
    return { promise, stop: () => this.#waiting.delete(check) };
  }

  #endOf(cause: 'done' | 'timeout' | 'aborted'): CallEnd {
    if (cause !== 'done') return { cause, exitCode: undefined };
    const end = this.#end;
    return { cause: 'exited', exitCode: end instanceof Error ? undefined : end?.exitCode };
  }

  #whyEnded(): string | undefined {
    const end = this.#end;
    if (end instanceof Error) return end.message;
    return end?.limit?.message ?? end?.message;
  }

  /** Files of the slot's /tmp: their directory is the server's, and commands see them under the same name. */
  #pathOf(name: string): string {
    const { isolation, workspace } = this.#context;
    return posix.join(isolation.tmpDir(workspace), this.#fileName(name));
  }

  #fileName(name: string): string {
    return `.talaria-terminal-${this.#key}-${name}`;
  }

  /** Synchronously: a process that starts meanwhile would hold the program open, and the kernel would refuse to run it. */
  #writeFile(name: string, bytes: Buffer, mode: number): string {
    this.#names.push(name);
    const fd = openSync(join(this.#context.workspace.tmpDir, this.#fileName(name)), 'wx', 0o600);
    try {
      writeSync(fd, bytes);
      fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
    return this.#pathOf(name);
  }

  async #removeFile(name: string): Promise<void> {
    this.#names.splice(this.#names.indexOf(name), 1);
    await unlink(join(this.#context.workspace.tmpDir, this.#fileName(name))).catch(() => {});
  }
}

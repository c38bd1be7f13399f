/**
 * A command that continues after the call that started it was answered.
 *
 *   running ─ends by itself→ exited
 *   running ─its own timeout→ timed_out
 *   running ─a call, a limit or its slot ends it→ killed
 *
 * It is isolated like any command and leaves nothing behind: when it has ended, everything it started has ended.
 */
import type { ProcessDescription, ProcessStatus } from '../../backend.ts';
import type { LimitedEnd } from '../limits/run-limited.ts';
import { waitWithin } from '../patience.ts';
import type { CommandOptions, RunningCommand } from '../process/run-command.ts';
import type { ProcessInput } from './process-input.ts';
import type { ProcessOutput } from './process-output.ts';

/** How long a process may take to end after a request. */
const KILL_GRACE_MS = 3_000;
/** How much of the command is shown in lists. */
const COMMAND_LENGTH = 500;

export type EndSignal = 'TERM' | 'INT' | 'KILL';

/** Runs the command to its end. */
export type RunBackground = (
  options: Pick<CommandOptions, 'capture' | 'stdin' | 'timeoutMs' | 'signal' | 'onStart'>,
) => Promise<LimitedEnd>;

export interface BackgroundProcessOptions {
  id: string;
  command: string;
  timeoutS: number | undefined;
  input: ProcessInput;
  output: ProcessOutput;
  run: RunBackground;
}

export class BackgroundProcess {
  readonly id: string;
  readonly timeoutS: number | undefined;
  readonly input: ProcessInput;
  readonly output: ProcessOutput;
  /** Resolves when no process of the command is left; never rejects. */
  readonly ended: Promise<void>;
  readonly #command: string;
  readonly #startedAt = new Date();
  readonly #abort = new AbortController();
  #running: RunningCommand | undefined;
  #killed = false;
  #end: { end: LimitedEnd | Error; at: number } | undefined;

  constructor({ id, command, timeoutS, input, output, run }: BackgroundProcessOptions) {
    this.id = id;
    this.timeoutS = timeoutS;
    this.input = input;
    this.output = output;
    this.#command = command.length > COMMAND_LENGTH ? `${command.slice(0, COMMAND_LENGTH)}…` : command;
    this.ended = this.#follow(run);
  }

  get status(): ProcessStatus {
    if (!this.#end) return 'running';
    const { end } = this.#end;
    const cause = end instanceof Error ? 'exited' : end.cause;
    if (this.#killed || cause === 'aborted' || cause === 'lost') return 'killed';
    return cause === 'timeout' ? 'timed_out' : 'exited';
  }

  /** Why it never ran; undefined if it did. */
  get startFailure(): string | undefined {
    const end = this.#end?.end;
    if (end instanceof Error) return end.message;
    return end && !end.started && end.cause === 'exited' ? end.message || 'it ended at once' : undefined;
  }

  /** The limit that ended it, as a sentence; undefined if none did. */
  get limitHit(): string | undefined {
    const end = this.#end?.end;
    return end instanceof Error ? undefined : end?.limit?.message;
  }

  describe(): ProcessDescription {
    const end = this.#end?.end;
    const { exitCode, signal, limit } = end && !(end instanceof Error) ? end : {};
    const { logPath } = this.output;
    return {
      id: this.id,
      command: this.#command,
      status: this.status,
      ...(exitCode === undefined ? {} : { exit_code: exitCode }),
      ...(signal === undefined ? {} : { signal }),
      ...(limit === undefined ? {} : { failure: limit.failure }),
      started_at: this.#startedAt.toISOString(),
      duration_s: ((this.#end?.at ?? Date.now()) - this.#startedAt.getTime()) / 1000,
      output_bytes: this.output.totalBytes,
      ...(logPath === undefined ? {} : { log_path: logPath }),
    };
  }

  /**
   * Ends it. Signals other than KILL go to everything it runs; what has not ended in time, or when the caller aborts,
   * is killed.
   */
  async kill(signal: EndSignal, aborted?: AbortSignal): Promise<void> {
    if (this.#end) return;
    this.#killed = true;
    if (signal !== 'KILL' && this.#running) {
      this.#running.signal(`SIG${signal}`);
      await waitWithin(this.ended, { timeoutMs: KILL_GRACE_MS, signal: aborted });
    }
    this.#abort.abort();
    await this.ended;
  }

  async #follow(run: RunBackground): Promise<void> {
    const end = await run({
      capture: this.output,
      stdin: this.input.readEnd,
      timeoutMs: this.timeoutS === undefined ? undefined : this.timeoutS * 1000,
      signal: this.#abort.signal,
      onStart: (running) => {
        this.#running = running;
        this.input.handOver();
      },
    }).catch((error: Error) => error);
    this.input.destroy();
    await this.output.end().catch(() => {});
    this.#end = { end, at: Date.now() };
  }
}

/**
 * Runs the tool calls of many trajectories on a backend: a call names its trajectory and gets a result.
 *
 * - A trajectory gets its slot with its first call and keeps it until it is released.
 * - A call waits for its slot and, while other calls are being sent to the same container, for a window of a few
 *   milliseconds (call-batcher.ts). Neither its start nor its result waits for another call, however long the timeouts
 *   of the others are.
 * - A signal ends its own call. Releasing a trajectory, or stopping, ends every call of it; they come back as `aborted`.
 * - `execute` answers with a result whatever goes wrong with the sandbox. A call that got no slot has the failure
 *   `backend_down`, or `aborted`, and an empty slot id.
 * - A call that was running when its container died comes back as `gone`. It is not run again, because its effects are
 *   unknown. The next call of the trajectory gets a new slot with the saved workspace.
 * - The backend's creator decides what a call may reach, such as the network. No argument changes that, and tools
 *   refuse unknown arguments.
 */
import type { ExecutionResult, ToolBackend } from '../backend.ts';
import { aborted, notRun } from '../not-run.ts';
import { CallBatcher } from './call-batcher.ts';
import { GaveUp, TrajectorySlots, type Use } from './trajectory-slots.ts';

/** Too short to notice, and long enough to collect what many callers send at once. */
const DEFAULT_BATCH_WINDOW_MS = 2;

export interface ToolExecutorOptions {
  /**
   * How long calls to a container are collected after one was sent to it. 2 by default; 0 collects only those of one
   * turn of the event loop.
   */
  batchWindowMs?: number | undefined;
}

export interface ExecuteCallOptions {
  /** The limit of the call. The backend's own limits by default. */
  timeoutS?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The creator of the backend starts and stops it. */
export class ToolExecutor {
  readonly #slots: TrajectorySlots;
  readonly #batcher: CallBatcher;
  #stopped = false;

  constructor(backend: ToolBackend, { batchWindowMs = DEFAULT_BATCH_WINDOW_MS }: ToolExecutorOptions = {}) {
    this.#slots = new TrajectorySlots(backend);
    this.#batcher = new CallBatcher(
      (requests, options) => backend.executeBatch(requests, options),
      batchWindowMs,
    );
  }

  async execute(
    trajectoryId: string,
    tool: string,
    args: Readonly<Record<string, unknown>>,
    { timeoutS, signal }: ExecuteCallOptions = {},
  ): Promise<ExecutionResult> {
    if (this.#stopped) return notRun('backend_down', 'The executor is stopped.');
    let use: Use;
    try {
      use = await this.#slots.use(trajectoryId, signal);
    } catch (error) {
      if (error instanceof GaveUp) return aborted();
      return notRun('backend_down', `The sandbox is not available: ${(error as Error).message}`);
    }
    const ended = signal ? AbortSignal.any([signal, use.released]) : use.released;
    const result = await this.#batcher
      .send([use.slot, tool, args, { signal: ended }], timeoutS)
      .catch((error: Error) =>
        notRun('backend_down', `The sandbox failed: ${error.message}`, use.slot.slotId),
      );
    const { failure, files_after_loss } = result.metadata;
    if (failure === 'gone' || files_after_loss !== undefined) this.#slots.lost(trajectoryId, use);
    return result;
  }

  /** Releases the slot of a trajectory, if it has one. The workspace stays for the next call unless it is reset. */
  async release(
    trajectoryId: string,
    { resetWorkspace = false }: { resetWorkspace?: boolean } = {},
  ): Promise<void> {
    await this.#slots.release(trajectoryId, { resetWorkspace });
  }

  /** Releases every slot and accepts no more calls. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#slots.releaseAll();
  }
}

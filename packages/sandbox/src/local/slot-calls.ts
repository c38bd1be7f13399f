/** Tool calls in the slots of a local backend: how one begins, is stopped and ends, and how its failures are named. */
import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import type {
  ExecuteOptions,
  ExecutionMetadata,
  ExecutionRequest,
  ExecutionResult,
  FailureReason,
} from '../backend.ts';
import { checkRequest, slotIdOf } from '../check-caller.ts';
import { LONGEST_TIMER_S } from '../longest-timer.ts';
import { notRun } from '../not-run.ts';
import { InvalidArguments } from '../tools/check-arguments.ts';
import type { CheckedCall } from '../tools/sandbox-tools.ts';
import { InvalidPathError, WorkspacePathError } from '../workspace/files/path-components.ts';
import type { Workspace } from '../workspace/workspaces.ts';
import { ProcessError } from './background/background-processes.ts';
import type { Confinement } from './confinement.ts';
import type { IsolationDriver } from './isolation/isolation-driver.ts';
import { WorkspaceFullError } from './limits/limit-hits.ts';
import type { LocalSlot } from './local-slot.ts';
import type { PipeStock } from './process/pipe-stock.ts';
import { withScreen } from './terminal/screen-thread.ts';
import { runTool } from './tools/run-tool.ts';
import type { ToolOutcome } from './tools/tool.ts';

/** The slot that a call works in, and the means to run commands there. */
export interface CallPlace {
  slot: LocalSlot;
  isolation: IsolationDriver;
  pipes: PipeStock;
  confinement: Confinement;
}

export interface SlotCallsOptions {
  /** Called when a call begins; returns an outcome if the call cannot begin. */
  placeOf(slotId: string): CallPlace | ToolOutcome;
  output: { limitBytes: number; spoolLimitBytes: number };
  /** Screens are made outside the container. */
  inContainer: boolean;
  /** For calls without a timeout of their own. */
  defaultTimeoutS: number;
}

export class SlotCalls {
  readonly #options: SlotCallsOptions;

  constructor(options: SlotCallsOptions) {
    this.#options = options;
  }

  execute(requests: readonly ExecutionRequest[], options: ExecuteOptions): Promise<ExecutionResult[]> {
    return Promise.all(
      requests.map(async (request, index) => {
        const call = checkRequest(request, options.timeoutS);
        const result =
          typeof call === 'string'
            ? notRun('invalid_request', call, slotIdOf(request))
            : await this.#untilAborted(request, call, options);
        options.onResult?.(result, index);
        return result;
      }),
    );
  }

  async #untilAborted(
    [{ slotId }, , , own]: ExecutionRequest,
    call: CheckedCall,
    { timeoutS, signal }: ExecuteOptions,
  ): Promise<ExecutionResult> {
    const controller = new AbortController();
    const abort = () => controller.abort();
    const signals = [signal, own?.signal].filter((each) => each !== undefined);
    for (const each of signals) {
      if (each.aborted) abort();
      each.addEventListener('abort', abort, { once: true });
    }
    try {
      return await this.#timed(slotId, call, timeoutS, controller);
    } finally {
      for (const each of signals) each.removeEventListener('abort', abort);
    }
  }

  async #timed(
    slotId: string,
    call: CheckedCall,
    timeoutS: number | undefined,
    controller: AbortController,
  ): Promise<ExecutionResult> {
    const executionId = `exec_${randomUUID()}`;
    const startedAt = performance.now();
    const place = this.#options.placeOf(slotId);
    const ran = 'slot' in place ? await this.#run(place, call, timeoutS, controller, executionId) : place;
    const outcome = this.#options.inContainer ? ran : await withScreen(ran);
    return {
      success: outcome.error === '',
      output: outcome.output,
      error: outcome.error,
      executionId,
      slotId,
      metadata: {
        timed_out: false,
        truncated: false,
        ...outcome.metadata,
        duration_s: (performance.now() - startedAt) / 1000,
      } satisfies ExecutionMetadata,
    };
  }

  async #run(
    { slot, isolation, pipes, confinement }: CallPlace,
    call: CheckedCall,
    timeoutS: number | undefined,
    controller: AbortController,
    executionId: string,
  ): Promise<ToolOutcome> {
    if (controller.signal.aborted) return failure('aborted', 'The call was stopped before it began.');
    const execution = runTool(call, {
      executionId,
      workspace: slot.workspace,
      isolation,
      slotLimits: slot.limits,
      pipes,
      processes: slot.processes,
      terminal: slot.terminal,
      network: slot.network,
      seat: slot.seat,
      limits: this.#options.output,
      confinement,
      isCutOff: false,
      defaultTimeoutS: timeoutS ?? this.#options.defaultTimeoutS,
      maxTimeoutS: Math.min(timeoutS ?? LONGEST_TIMER_S, LONGEST_TIMER_S),
      signal: controller.signal,
    })
      .catch(describeFailure)
      .then((outcome) => nameMissing(outcome, slot.workspace));
    slot.executions.set(controller, execution);
    try {
      return await execution;
    } finally {
      slot.executions.delete(controller);
    }
  }
}

export function failure(reason: FailureReason | undefined, error: string): ToolOutcome {
  return { output: '', error, metadata: reason === undefined ? {} : { failure: reason } };
}

function describeFailure(error: Error): ToolOutcome {
  if (error instanceof InvalidArguments || error instanceof InvalidPathError) {
    return failure('invalid_request', error.message);
  }
  if (error instanceof WorkspaceFullError) return failure('disk_full', error.message);
  if (error instanceof WorkspacePathError) return failure(diskIsFull(error), error.message);
  if (error instanceof ProcessError) return failure(undefined, error.message);
  return failure('backend_down', `The local backend failed: ${error.message}`);
}

/** The owner of a mounted directory can move or delete it. The failure would name its path, which no client may know. */
async function nameMissing(outcome: ToolOutcome, { dir }: Workspace): Promise<ToolOutcome> {
  if (outcome.metadata.failure !== 'backend_down') return outcome;
  const stats = await lstat(dir).catch(() => undefined);
  if (stats?.isDirectory()) return outcome;
  return failure('backend_down', 'The directory of the workspace was moved or deleted on its machine.');
}

function diskIsFull({ cause }: WorkspacePathError): FailureReason | undefined {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' ? 'disk_full' : undefined;
}

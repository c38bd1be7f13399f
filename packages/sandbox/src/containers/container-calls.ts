/**
 * Runs a batch of requests in containers: one connection per container, and an answer to every request whatever happens
 * to its container.
 *
 * The server inside answers a request. If it cannot, this file makes the answer: `aborted` if the slot was released during
 * the call, `gone` if the slot or its container is gone, `oom` if the container ran out of memory and died,
 * `invalid_request` for a call that is wrong or too large to be sent.
 */
import { randomUUID } from 'node:crypto';
import type { ExecuteOptions, ExecutionRequest, ExecutionResult, FailureReason, Slot } from '../backend.ts';
import { checkRequest, slotIdOf } from '../check-caller.ts';
import { SandboxError } from '../errors.ts';
import { withScreen } from '../local/terminal/screen-thread.ts';
import { notRun } from '../not-run.ts';
import type { SlotEnds, SlotPool } from '../pool/slot-pool.ts';
import type { CheckedCall } from '../tools/sandbox-tools.ts';
import type { ContainerSlots } from './container-slots.ts';
import type { RunningContainer } from './running-container.ts';
import { MAX_FRAME_BYTES } from './server/protocol.ts';
import type { ClientCall } from './server/sandbox-client.ts';

/** In the line of a call, everything except its arguments takes less than this. */
const OVERHEAD_BYTES = 10_000;
const MAX_BYTES = MAX_FRAME_BYTES - OVERHEAD_BYTES;

type Answer = Omit<ExecutionResult, 'slotId'>;

interface PendingCall {
  call: ClientCall;
  /** Undefined when the server was lost before it answered. */
  settle(answer: Answer | undefined): void;
}

export interface ContainerCallsOptions {
  defaultTimeoutS: number;
  /** Whether the files of a slot are still as the calls left them after its container died, or as they were before. */
  filesAfterLoss: 'kept' | 'reverted';
}

type Batches = Map<RunningContainer, PendingCall[]>;

export class ContainerCalls {
  readonly #pool: SlotPool<RunningContainer>;
  readonly #slots: ContainerSlots;
  readonly #options: ContainerCallsOptions;

  constructor(pool: SlotPool<RunningContainer>, slots: ContainerSlots, options: ContainerCallsOptions) {
    this.#pool = pool;
    this.#slots = slots;
    this.#options = options;
  }

  /** `stopped` ends it like the caller's own signal. */
  async execute(
    requests: readonly ExecutionRequest[],
    { timeoutS, signal, onResult }: ExecuteOptions,
    stopped: AbortSignal,
  ): Promise<ExecutionResult[]> {
    const batches: Batches = new Map();
    const results = requests.map(async (request, index) => {
      const slotId = slotIdOf(request);
      const call = checkRequest(request, timeoutS);
      const signals = [stopped, signal, request?.[3]?.signal].filter((each) => each !== undefined);
      const result =
        typeof call === 'string'
          ? notRun('invalid_request', call, slotId)
          : {
              ...(await this.#answer(request[0], call, timeoutS, AbortSignal.any(signals), batches)),
              slotId,
            };
      onResult?.(result, index);
      return result;
    });
    for (const [container, calls] of batches) void send(container, calls, timeoutS);
    return Promise.all(results);
  }

  async #answer(
    slot: Slot,
    toolCall: CheckedCall,
    timeoutS: number | undefined,
    ended: AbortSignal,
    batches: Batches,
  ): Promise<Answer> {
    const fail = failing();
    const longestS = timeoutS ?? this.#longestS(toolCall);
    try {
      return await this.#pool.use(slot, (container, ends) => {
        const signal = AbortSignal.any([ended, ends.released]);
        const call = { ...toolCall, signal, longestS };
        return this.#call(container, ends, slot, call, batches, fail);
      });
    } catch (error) {
      if (!(error instanceof SandboxError && error.code === 'slot_gone')) throw error;
      const answer = fail('gone', error.message);
      return this.#pool.isLost(slot) ? this.#lost(answer) : answer;
    }
  }

  /** Before its first await it has put the request into the batch of its container, or answered it. */
  async #call(
    container: RunningContainer,
    { gone, released }: SlotEnds,
    slot: Slot,
    call: Omit<ClientCall, 'slotId'>,
    batches: Batches,
    fail: Fail,
  ): Promise<Answer> {
    const bytes = Buffer.byteLength(JSON.stringify(call.args));
    if (bytes > MAX_BYTES)
      return fail('invalid_request', `The arguments have ${bytes} bytes; allowed: up to ${MAX_BYTES}.`);
    if (call.signal.aborted) return fail('aborted', 'The call was stopped before it began.');
    const { promise, resolve: settle } = Promise.withResolvers<Answer | undefined>();
    const innerSlotId = container.slots.get(slot.slotId)?.innerSlotId ?? '';
    const batch = batches.get(container) ?? [];
    batches.set(container, batch);
    batch.push({ call: { ...call, slotId: innerSlotId }, settle });
    const answer = await promise;
    if (answer) return withScreen(answer);
    // Even if the container died afterwards: the caller that released the slot wanted the call to end.
    if (released.aborted) return fail('aborted', 'The slot was released.');
    const end = await this.#slots.endOf(container);
    if (end?.outOfMemory) {
      return this.#lost(fail('oom', 'The container of this slot ran out of memory and died; acquire again.'));
    }
    const reason: Error = gone.aborted ? gone.reason : container.client.lost.reason;
    const why = end?.reason ?? reason.message;
    return this.#lost(fail('gone', `The container of this slot died; acquire again. (${why})`));
  }

  #lost(answer: Answer): Answer {
    const { filesAfterLoss } = this.#options;
    return { ...answer, metadata: { ...answer.metadata, files_after_loss: filesAfterLoss } };
  }

  /** A tool takes no longer than the default, or than its timeout argument says. */
  #longestS({ args }: CheckedCall): number {
    return Math.max(('timeout' in args && args.timeout) || 0, this.#options.defaultTimeoutS);
  }
}

async function send(
  { client }: RunningContainer,
  calls: readonly PendingCall[],
  timeoutS: number | undefined,
): Promise<void> {
  const sent = calls.map(({ call }) => call);
  try {
    await client.execute(sent, timeoutS, ({ index, ...answer }) => calls[index]?.settle(answer));
  } finally {
    // Answered requests keep their answers.
    for (const { settle } of calls) settle(undefined);
  }
}

type Fail = (failure: FailureReason, error: string) => Answer;

/** Makes the answers that no container gave. */
function failing(): Fail {
  const startedAt = performance.now();
  return (failure, error) => ({
    success: false,
    output: '',
    error,
    executionId: `exec_${randomUUID()}`,
    metadata: {
      duration_s: (performance.now() - startedAt) / 1000,
      timed_out: false,
      truncated: false,
      failure,
    },
  });
}

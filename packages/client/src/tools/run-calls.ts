/**
 * The tool calls of one followed run. Each runs once, calls run side by side, and each is settled when the run says so.
 *
 * An event only announces a call. The call itself is read from the run, which has the whole arguments and lists only
 * pending calls. So a call that an earlier process answered never runs again.
 */
import type { PendingCall, Run, RunEvent } from '@talaria/protocol';
import { insist } from '../retry.ts';
import type { RequestOptions } from '../transport.ts';
import { answerCall, type OutputRoute } from './answer-call.ts';
import { type BegunCalls, keyOf } from './begun-calls.ts';
import type { AnyClientTools } from './client-tool.ts';

export interface RunCallsOptions {
  runs: OutputRoute & { get(runId: string, options: RequestOptions): Promise<Run> };
  runId: string;
  tools: AnyClientTools;
  begun: BegunCalls;
  request: RequestOptions;
  /** Called when an output cannot be sent, for a reason that will not pass. */
  onFault(error: unknown): void;
}

export class RunCalls {
  readonly #options: RunCallsOptions;
  /** The calls that began here. */
  readonly #calls = new Map<string, AbortController>();
  readonly #closed = new AbortController();
  #looking = false;
  #lookAgain = false;

  constructor(options: RunCallsOptions) {
    this.#options = options;
  }

  see(event: RunEvent): void {
    if (event.event === 'tool.started' && event.client === true) void this.#look();
    if (event.event === 'tool.completed') this.#calls.get(event.tool_call_id)?.abort();
  }

  close(): void {
    const { begun, runId } = this.#options;
    this.#closed.abort();
    for (const [id, settled] of this.#calls) {
      settled.abort();
      begun.delete(keyOf(runId, id));
    }
  }

  async #look(): Promise<void> {
    this.#lookAgain = true;
    if (this.#looking) return;
    this.#looking = true;
    const { runs, runId, request, onFault } = this.#options;
    const { signal } = this.#closed;
    try {
      while (this.#lookAgain) {
        this.#lookAgain = false;
        const run = await insist(() => runs.get(runId, { ...request, signal }), signal);
        for (const call of run.pending_calls ?? []) this.#begin(call);
      }
    } catch (error) {
      if (!signal.aborted) onFault(error);
    } finally {
      this.#looking = false;
    }
  }

  #begin(call: PendingCall): void {
    const { tools, begun, onFault, ...options } = this.#options;
    const key = keyOf(options.runId, call.tool_call_id);
    if (this.#closed.signal.aborted || !Object.hasOwn(tools, call.tool) || begun.has(key)) return;
    begun.add(key);
    const settled = new AbortController();
    this.#calls.set(call.tool_call_id, settled);
    answerCall({ ...options, call, tool: tools[call.tool]!, settled, onError: () => {} }).catch(onFault);
  }
}

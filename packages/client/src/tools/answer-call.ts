/**
 * Runs a tool call and sends its output, however long the server is unreachable meanwhile. Ends silently when nobody
 * waits for the output any more: somebody else answered, it came too late, or the run has ended.
 */
import type { PendingCall } from '@talaria/protocol';
import { after } from '../abort.ts';
import { APIError } from '../errors.ts';
import { insist } from '../retry.ts';
import type { RequestOptions } from '../transport.ts';
import type { ClientTool } from './client-tool.ts';
import { type CallOutput, executeCall } from './execute-call.ts';

/** The methods it uses. */
export interface OutputRoute {
  toolOutputs(runId: string, outputs: CallOutput[], options: RequestOptions): Promise<unknown>;
}

export interface Answering {
  runs: OutputRoute;
  runId: string;
  call: PendingCall;
  tool: ClientTool;
  /** Aborts when the call is settled. */
  settled: AbortController;
  request: RequestOptions;
  onError(error: unknown): void;
}

/** After the deadline the server answers a call itself. The two clocks may differ by this much. */
const CLOCKS_MS = 60_000;

export async function answerCall({ runs, runId, call, tool, settled, ...options }: Answering): Promise<void> {
  const { signal } = settled;
  const cancel = after(call.expires_at * 1000 - Date.now() + CLOCKS_MS, () => settled.abort());
  const send = (output: CallOutput): Promise<unknown> =>
    insist(() => runs.toolOutputs(runId, [output], { ...options.request, signal }), signal);
  try {
    const context = { runId, toolCallId: call.tool_call_id, signal };
    const output = await executeCall(tool, call, context, options.onError);
    if (signal.aborted) return;
    try {
      await send(output);
    } catch (error) {
      if (!(error instanceof APIError) || ![400, 413].includes(error.status)) throw error;
      // For example, the output is too large. The model should hear of it now rather than at the deadline.
      const why = `The output of the tool could not be sent: ${error.message}`;
      await send({ tool_call_id: call.tool_call_id, output: why, error: true });
    }
  } catch (error) {
    const isOver = error instanceof APIError && [404, 409].includes(error.status);
    if (!signal.aborted && !isOver) throw error;
  } finally {
    cancel();
  }
}

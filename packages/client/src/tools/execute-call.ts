/** Runs one tool call. Every failure becomes an output that says what went wrong, so that the model can react. */
import type { PendingCall, ToolOutputsRequest } from '@talaria/protocol';
import type { ClientTool, ToolContext } from './client-tool.ts';
import { readValue } from './schema.ts';

export type CallOutput = ToolOutputsRequest['outputs'][number];

export async function executeCall(
  tool: ClientTool,
  { tool_call_id, arguments: args }: PendingCall,
  context: ToolContext,
  onError: (error: unknown) => void,
): Promise<CallOutput> {
  const failed = (output: string): CallOutput => ({ tool_call_id, output, error: true });
  try {
    const read = await readValue(tool.parameters, args);
    if ('problem' in read) return failed(`The arguments are invalid: ${read.problem}`);
    const output = await tool.execute(read.value as Record<string, unknown>, context);
    // Throws for values that JSON cannot hold. No value is sent as empty text.
    return { tool_call_id, output: JSON.stringify(output) === undefined ? '' : output };
  } catch (error) {
    if (!context.signal.aborted) onError(error);
    return failed((error instanceof Error && error.message) || String(error));
  }
}

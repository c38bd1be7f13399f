/** Calls a tool of the sandbox in the run's slot and puts its result into words for the model. */
import { type ExecutionResult, SandboxError, type Slot, type ToolBackend } from '@talaria/sandbox';
import type { ToolOutcome } from './tool.ts';

/** Gives the slot of the run, acquiring it at the first call. */
export type GetSlot = () => Promise<Slot>;

export type SandboxCall = (
  tool: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  timeoutS?: number,
) => Promise<ToolOutcome>;

export function createSandboxCall(backend: ToolBackend, getSlot: GetSlot): SandboxCall {
  return async (tool, args, signal, timeoutS) => {
    try {
      const slot = await getSlot();
      const results = await backend.executeBatch([[slot, tool, args]], { signal, timeoutS });
      return toOutcome(results[0]!);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      return { output: `The sandbox is not available: ${error.message}`, isError: true };
    }
  };
}

function toOutcome(result: ExecutionResult): ToolOutcome {
  const { exit_code: exitCode } = result.metadata;
  const parts = [result.output];
  if (result.error !== '') parts.push(result.error);
  else if (exitCode !== undefined && exitCode !== 0) parts.push(`[exit code ${exitCode}]`);
  parts.push(wayToTheRest(result));
  return { output: parts.filter((part) => part !== '').join('\n'), isError: !result.success, exitCode };
}

function wayToTheRest({ metadata }: ExecutionResult): string {
  const { full_output_path: path, total_bytes: bytes } = metadata;
  if (path === undefined) return '';
  const call = JSON.stringify({ path, offset: 1, limit: 500 });
  return `[The output of ${bytes} bytes is shown by its start and its end. Read the rest with read_file ${call}, or look for something in it with search_files.]`;
}

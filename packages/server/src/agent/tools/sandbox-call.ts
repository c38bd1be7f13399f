/** Calls a tool of the sandbox for a run and turns the result into text for the model. */
import type { ExecutionResult, ToolExecutor } from '@talaria/sandbox';
import type { RecoveredWorkspace } from './recovered-workspace.ts';
import type { ToolOutcome } from './tool.ts';

const REPLACED =
  'The sandbox of this run was lost while it had this call, and is replaced with the next one. Processes are gone, and so may ' +
  'be what stateful commands had left. The call may have run completely, partly or not at all: check the state before you ' +
  'repeat it.';
const FILES_KEPT = 'The files in the workspace are kept.';

export type SandboxCall = (
  tool: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  timeoutS?: number,
) => Promise<ToolOutcome>;

export interface SandboxCallOptions {
  /** Runs before every call, and does what must be done before the call can have an effect. */
  before?(): Promise<void>;
  /** Restores the files that were lost with this slot, as far as possible, before the next call. */
  recover?(slotId: string, signal: AbortSignal): Promise<RecoveredWorkspace>;
}

export function createSandboxCall(
  executor: ToolExecutor,
  runId: string,
  { before, recover }: SandboxCallOptions = {},
): SandboxCall {
  return async (tool, args, signal, timeoutS) => {
    await before?.();
    const result = await executor.execute(runId, tool, args, { signal, timeoutS });
    if (result.metadata.files_after_loss !== 'reverted') return toOutcome(result);
    const workspace = (await recover?.(result.slotId, signal)) ?? { kind: 'reverted' };
    return toOutcome(result, workspace);
  };
}

function toOutcome(result: ExecutionResult, workspace?: RecoveredWorkspace): ToolOutcome {
  const { exit_code: exitCode, failure, files_after_loss: filesAfterLoss } = result.metadata;
  const parts = [result.output];
  if (result.error !== '') parts.push(result.error);
  else if (exitCode !== undefined && exitCode !== 0) parts.push(`[exit code ${exitCode}]`);
  if (failure === 'gone' || filesAfterLoss !== undefined)
    parts.push(workspace === undefined ? `${REPLACED} ${FILES_KEPT}` : REPLACED);
  parts.push(wayToTheRest(result));
  const output = parts.filter((part) => part !== '').join('\n');
  return { output, isError: !result.success, exitCode, workspace };
}

function wayToTheRest({ metadata }: ExecutionResult): string {
  const { full_output_path: path, total_bytes: bytes } = metadata;
  if (path === undefined) return '';
  const call = JSON.stringify({ path, offset: 1, limit: 500 });
  return `[The output of ${bytes} bytes is shown by its start and its end. Read the rest with read_file ${call}, or look for something in it with search_files.]`;
}
